#include "runner/analysis/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace compat::analysis {
namespace {

using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

constexpr std::array kAllStates{State::passed,  State::failed,    State::errored,
                                State::skipped, State::xfailed,   State::xpassed,
                                State::crashed, State::timed_out, State::not_run};

TEST(ChangeBetween, FollowsTheKindsOfBothStates) {
    const std::map<std::pair<StateKind, StateKind>, Change> expected{
        {{StateKind::good, StateKind::good}, Change::otherwise},
        {{StateKind::good, StateKind::broken}, Change::lost},
        {{StateKind::good, StateKind::idle}, Change::no_longer},
        {{StateKind::broken, StateKind::good}, Change::gained},
        {{StateKind::broken, StateKind::broken}, Change::otherwise},
        {{StateKind::broken, StateKind::idle}, Change::no_longer},
        {{StateKind::idle, StateKind::good}, Change::runs_now},
        {{StateKind::idle, StateKind::broken}, Change::fails_now},
        {{StateKind::idle, StateKind::idle}, Change::otherwise},
    };
    for (const State baseline : kAllStates)
        for (const State other : kAllStates) {
            const auto change = change_between(baseline, other);
            if (baseline == other)
                EXPECT_EQ(change, std::nullopt) << name_of(baseline);
            else
                EXPECT_THAT(change, Optional(expected.at({kind_of(baseline), kind_of(other)})))
                    << name_of(baseline) << " " << name_of(other);
        }
}

TEST(ChangeBetween, NamesTestsThatOneRunDoesNotHave) {
    for (const State state : kAllStates) {
        EXPECT_THAT(change_between(state, std::nullopt), Optional(Change::missing));
        EXPECT_THAT(change_between(std::nullopt, state), Optional(Change::added));
    }
    EXPECT_EQ(change_between(std::nullopt, std::nullopt), std::nullopt);
}

TEST(KindOf, CoversEveryState) {
    std::vector<StateKind> kinds;
    for (const State state : kAllStates) kinds.push_back(kind_of(state));
    using enum StateKind;
    EXPECT_THAT(kinds, ElementsAre(good, broken, broken, idle, good, good, broken, broken, idle));
}

TEST(Comparison, HoldsTheStatesOfEachTestByRun) {
    Comparison compared(2);
    compared.add(0, "a.py::x", State::passed, "a.py");
    compared.add(0, "a.py::<module>", State::errored, "a.py", true);
    compared.add(1, "b.py::y", State::skipped, "b.py");
    compared.add(1, "a.py::x", State::failed, "a.py");
    ASSERT_EQ(compared.tests(), 3u);
    EXPECT_EQ(compared.test(0).id, "a.py::x");
    EXPECT_EQ(compared.test(2).module, "b.py");
    EXPECT_TRUE(compared.test(1).pseudo);
    EXPECT_FALSE(compared.test(2).pseudo);
    EXPECT_THAT(compared.state(0, 0), Optional(State::passed));
    EXPECT_THAT(compared.state(0, 1), Optional(State::failed));
    EXPECT_EQ(compared.state(1, 1), std::nullopt);
    EXPECT_EQ(compared.state(2, 0), std::nullopt);
    EXPECT_THAT(compared.change(0, 1), Optional(Change::lost));
    EXPECT_THAT(compared.change(1, 1), Optional(Change::missing));
    EXPECT_THAT(compared.change(2, 1), Optional(Change::added));
    EXPECT_THAT(compared.find("b.py::y"), Optional(2u));
    EXPECT_EQ(compared.find("b.py::z"), std::nullopt);
}

TEST(Comparison, KeepsTheFirstStateOfADuplicate) {
    Comparison compared(1);
    EXPECT_FALSE(compared.add(0, "a", State::passed).duplicate);
    const auto again = compared.add(0, "a", State::failed);
    EXPECT_TRUE(again.duplicate);
    EXPECT_EQ(again.test, 0u);
    EXPECT_THAT(compared.state(0, 0), Optional(State::passed));
    EXPECT_EQ(compared.counts(0).tests, 1);
    EXPECT_EQ(compared.counts(0).duplicates, 1);
}

TEST(Comparison, ListsTestsThatDifferInAnyRun) {
    Comparison compared;
    for (const State flaky : {State::passed, State::passed, State::failed}) {
        const std::size_t run = compared.add_run();
        compared.add(run, "stable", State::passed);
        compared.add(run, "flaky", flaky);
        if (run > 0) compared.add(run, "late", State::passed);
    }
    EXPECT_EQ(compared.runs(), 3u);
    EXPECT_THAT(compared.tests_that_differ(), ElementsAre(1, 2));
}

TEST(Comparison, ARunWithoutTestsMissesThemAll) {
    Comparison compared(1);
    compared.add(0, "a", State::passed);
    const std::size_t empty = compared.add_run();
    EXPECT_THAT(compared.tests_that_differ(), ElementsAre(0));
    EXPECT_EQ(compared.counts(empty).count(Change::missing), 1);
    EXPECT_THAT(Comparison().tests_that_differ(), IsEmpty());
}

TEST(Comparison, TheBaselineMayDependOnTheTest) {
    Comparison compared(3);
    for (const char* id : {"a", "b"}) {
        compared.add(0, id, State::failed);
        compared.add(1, id, State::passed);
        compared.add(2, id, State::failed);
    }
    EXPECT_THAT(compared.change(0, 2, 1), Optional(Change::lost));
    const auto counts = compared.counts(2, [](std::size_t test) { return test; });
    EXPECT_EQ(counts.unchanged, 1);
    EXPECT_EQ(counts.count(Change::lost), 1);
}

TEST(Comparison, CountsAddUpForEveryRun) {
    std::mt19937 random(7);
    for (int round = 0; round < 50; ++round) {
        Comparison compared(4);
        for (std::size_t run = 0; run < compared.runs(); ++run)
            for (int test = 0; test < 40; ++test)
                if (random() % 5 != 0)
                    compared.add(run, std::to_string(test), kAllStates[random() % 9]);
        for (std::size_t run = 0; run < compared.runs(); ++run) {
            const RunCounts counts = compared.counts(run);
            const auto changed =
                std::accumulate(counts.changes.begin(), counts.changes.end(), std::int64_t{0});
            EXPECT_EQ(counts.tests, counts.unchanged + changed - counts.count(Change::missing));
            EXPECT_EQ(counts.baseline_tests,
                      counts.unchanged + changed - counts.count(Change::added));
            if (run == 0) {
                EXPECT_EQ(changed, 0);
            }
        }
    }
}

}  // namespace
}  // namespace compat::analysis
