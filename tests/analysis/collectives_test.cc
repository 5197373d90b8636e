#include "runner/analysis/collectives.h"

#include <gtest/gtest.h>

namespace compat::analysis {
namespace {

CollectiveFigures figures_of(const std::vector<parsers::CollectiveCalls>& calls,
                             const std::vector<parsers::OptimizerSteps>& steps) {
    CollectiveSums sums;
    sums.add(calls, steps);
    return sums.figures();
}

TEST(Collectives, FactorsAreThoseOfNcclTests) {
    struct Row {
        std::string_view op;
        double of_two, of_eight;
    };
    for (const Row& row : {Row{"all_reduce", 1, 1.75}, Row{"all_gather_into_tensor", .5, .875},
                           Row{"reduce_scatter_tensor", .5, .875}, Row{"all_to_all", .5, .875},
                           Row{"gather", .5, .875}, Row{"broadcast", 1, 1}, Row{"reduce", 1, 1},
                           Row{"send", 1, 1}, Row{"recv", 1, 1}}) {
        EXPECT_DOUBLE_EQ(ring_factor(row.op, 2), row.of_two) << row.op;
        EXPECT_DOUBLE_EQ(ring_factor(row.op, 8), row.of_eight) << row.op;
        EXPECT_EQ(ring_factor(row.op, 1), 0) << row.op;
    }
}

TEST(Collectives, TheModelAddsLatencyOfCallsAndTimeOfBytesOfAStepOfARank) {
    // 4 ranks, 10 steps each: 2 calls a step of a rank, with 30 MB and without bytes.
    const auto figures = figures_of({{"", "all_reduce", "0", 4, {"/t.py", 3}, 40, 40 * 30'000'000},
                                     {"", "barrier", "0", 4, {"/t.py", 4}, 40, 0}},
                                    {{"", 4, 40}});
    EXPECT_EQ(figures.steps, 10);
    EXPECT_DOUBLE_EQ(figures.bytes_each(), 30e6);
    // 1.5 · 30 MB at 300 GB/s are 150 µs, two calls 10 µs.
    EXPECT_NEAR(ring_seconds(figures, {300, 5}), 160e-6, 1e-12);
    EXPECT_NEAR(ring_seconds(figures, {30, 0}), 1500e-6, 1e-12);
    EXPECT_EQ(describe_collectives(figures), "4 ranks, 10 steps; 28.6 MiB a step a rank");
    EXPECT_EQ(
        describe_ring(figures, {300, 5}),
        "NCCL ring model at 300 GB/s, 5 µs a call: 0.16 ms a step (a model, not a measurement)");
}

TEST(Collectives, WithoutStepsTheFiguresAreThoseOfARank) {
    const auto figures = figures_of({{"", "broadcast", "0", 2, {"", 0}, 2, 4096}}, {});
    EXPECT_EQ(figures.steps, 0);
    EXPECT_EQ(describe_collectives(figures), "2 ranks, no optimizer step; 2.0 KiB a rank");
    EXPECT_NEAR(ring_seconds(figures, {1, 0}), 2048e-9, 1e-15);
}

TEST(Collectives, SitesAddUpOverTestsAndThoseWithMostBytesAreFirst) {
    const parsers::Location line{"/t.py", 3};
    const auto figures = figures_of({{"a", "send", "0", 2, line, 1, 10},
                                     {"b", "send", "0", 2, line, 2, 20},
                                     {"b", "send", "1", 8, line, 1, 50}},
                                    {});
    ASSERT_EQ(figures.sites.size(), 2u);
    EXPECT_EQ(figures.sites[0], (CollectiveSite{"send", "1", 8, line, 1, 50}));
    EXPECT_EQ(figures.sites[1], (CollectiveSite{"send", "0", 2, line, 3, 30}));
    EXPECT_EQ(figures.ranks, 8);
    EXPECT_EQ(figures.calls, 4);
}

TEST(Collectives, AWorldsStepsAreDividedByItsRanks) {
    // One of 2 ranks ended a step early; another test had 4 ranks and 3 steps.
    const auto figures =
        figures_of({{"", "barrier", "0", 4, {"", 0}, 1, 0}}, {{"", 2, 9 + 10}, {"t", 4, 12}});
    EXPECT_EQ(figures.rank_steps, 31);
    EXPECT_EQ(figures.steps, 13);
}

TEST(Collectives, NoCallsAreNoFigures) {
    const auto figures = figures_of({}, {{"", 2, 4}});
    EXPECT_EQ(figures.calls, 0);
    EXPECT_EQ(ring_seconds(figures, {}), 0);
}

}  // namespace
}  // namespace compat::analysis
