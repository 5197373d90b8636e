#include "runner/plan/plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cerrno>
#include <random>

namespace compat::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<ModuleFile> kModules{
    {"test/examples/test_long.py", 900},
    {"test/old/test_gone.py", 5, true},
    {"test/test_a.py", 10},
    {"test/test_b.py", 300},
    {"test/test_c.py", 10},
};

suites::Suite suite() {
    suites::Suite s;
    s.name = "demo";
    s.layout.tests = "test";
    s.groups = {{"examples", {"test/examples"}, false}};
    return s;
}

std::vector<std::string> names(const Plan& plan) {
    std::vector<std::string> all;
    for (const Job& job : plan.jobs) all.push_back(job.module);
    return all;
}

TEST(MakePlan, DefaultIsEveryModuleLargestFirstWithNotes) {
    const auto plan = make_plan(suite(), kModules, {});
    ASSERT_TRUE(plan.has_value()) << to_line(plan.error());
    EXPECT_THAT(names(*plan), ElementsAre("test/test_b.py", "test/test_a.py", "test/test_c.py"));
    EXPECT_EQ(plan->jobs[0].source_bytes, 300u);
    EXPECT_THAT(plan->jobs[0].only, IsEmpty());
    EXPECT_THAT(plan->notes, ElementsAre("group examples left out (1 module): name it to run it",
                                         "1 module excluded by the suite"));
}

TEST(MakePlan, ANamedGroupRuns) {
    const auto plan = make_plan(suite(), kModules, {{"examples"}});
    ASSERT_TRUE(plan.has_value()) << to_line(plan.error());
    EXPECT_THAT(names(*plan), ElementsAre("test/examples/test_long.py"));
    EXPECT_THAT(plan->notes, IsEmpty());
}

TEST(MakePlan, RepeatedTargetsMakeOneJob) {
    const auto plan =
        make_plan(suite(), kModules,
                  {{"test_a.py::A::test_x", "test.test_a.B", "test/test_a.py::A::test_x",
                    "test_b.py::C", "test_b.py::C::test_y", "test_b.py", "test_c.py::D::test_z[1]",
                    "test_c.py::D::test_z", "test_c.py::D2::test_z"}});
    ASSERT_TRUE(plan.has_value()) << to_line(plan.error());
    ASSERT_THAT(names(*plan), ElementsAre("test/test_b.py", "test/test_a.py", "test/test_c.py"));
    EXPECT_THAT(plan->jobs[0].only, IsEmpty()) << "the whole module holds its parts";
    EXPECT_THAT(plan->jobs[1].only, ElementsAre("test/test_a.py::A::test_x", "test/test_a.py::B"));
    EXPECT_THAT(plan->jobs[2].only,
                ElementsAre("test/test_c.py::D::test_z", "test/test_c.py::D2::test_z"));
}

Past seconds(std::map<std::string, double> known) {
    Past past;
    past.seconds = std::move(known);
    return past;
}

// Forty modules, of 1 to 40 bytes.
std::vector<ModuleFile> forty() {
    std::vector<ModuleFile> files;
    for (unsigned i = 1; i <= 40; ++i) files.push_back({fmt::format("test/test_{:02}.py", i), i});
    return files;
}

TEST(MakePlan, FollowsTheRequestedOrder) {
    const auto files = forty();
    const auto first_two = [&](const char* order) {
        Selection selection;
        selection.ordering = parse_ordering(order).value();
        Past past;
        past.failed = {"test/test_03.py", "test/test_07.py"};
        auto all = names(*make_plan(suite(), files, selection, past));
        EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 40u);
        all.resize(2);
        return all;
    };
    EXPECT_THAT(first_two("longest-first"), ElementsAre("test/test_40.py", "test/test_39.py"));
    EXPECT_THAT(first_two("failed-first"), ElementsAre("test/test_07.py", "test/test_03.py"));
    EXPECT_THAT(first_two("as-listed"), ElementsAre("test/test_01.py", "test/test_02.py"));
    EXPECT_EQ(first_two("random:7"), first_two("random:7"));
    EXPECT_NE(first_two("random:7"), first_two("random:8"));
    for (const char* wrong : {"", "random", "random:", "random:x", "shortest"})
        EXPECT_FALSE(parse_ordering(wrong)) << wrong;
}

TEST(MakePlan, UnknownDurationsAreEstimatedFromSize) {
    // 2 s for 20 bytes: the unknown test_b (300 bytes) counts as 30 s.
    const auto plan =
        make_plan(suite(), kModules, {},
                  seconds({{"test/test_a.py", 0.5}, {"test/test_c.py", 1.5}, {"gone.py", 9}}));
    ASSERT_TRUE(plan.has_value()) << to_line(plan.error());
    EXPECT_THAT(names(*plan), ElementsAre("test/test_b.py", "test/test_c.py", "test/test_a.py"));

    const auto slow_a =
        make_plan(suite(), kModules, {}, seconds({{"test/test_a.py", 100}, {"test/test_b.py", 1}}));
    ASSERT_TRUE(slow_a.has_value());
    EXPECT_THAT(names(*slow_a), ElementsAre("test/test_a.py", "test/test_c.py", "test/test_b.py"));
}

TEST(MakePlan, IsDeterministic) {
    std::vector<ModuleFile> modules;
    for (int i = 0; i < 200; ++i)
        modules.push_back({"test/test_" + std::to_string(i) + ".py", i % 7u});
    const auto sorted = make_plan(suite(), modules, {});
    std::shuffle(modules.begin(), modules.end(), std::mt19937(7));
    const auto shuffled = make_plan(suite(), modules, {});
    ASSERT_TRUE(sorted.has_value() && shuffled.has_value());
    EXPECT_EQ(names(*sorted), names(*shuffled));
}

TEST(MakePlan, AnEmptyPlanIsAnError) {
    const std::vector<ModuleFile> only_examples{{"test/examples/test_long.py", 900}};
    const auto plan = make_plan(suite(), only_examples, {});
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().kind, ErrorKind::nothing_selected);
    EXPECT_EQ(to_line(plan.error()),
              "no test module selected: group examples left out (1 module): name it to run it");
}

TEST(MakePlan, OneUnknownTargetIsAnError) {
    const auto plan = make_plan(suite(), kModules, {{"test_a.py", "test_aa.py"}});
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().kind, ErrorKind::usage);
}

TEST(MakePlan, RefusesASelectedFolderThatCannotBeRead) {
    suites::Suite suite;
    suite.layout.tests = "tests";
    std::vector<ModuleFile> modules{{"tests/locked", 0, false, EACCES},
                                    {"tests/test_a.py", 1, false, 0}};
    const auto refused = make_plan(suite, modules, {});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::environment);
    EXPECT_EQ(refused.error().where, "tests/locked");
    EXPECT_EQ(refused.error().message, "cannot read this folder of tests: Permission denied");
    EXPECT_FALSE(make_plan(suite, modules, {{"tests"}}));
    EXPECT_TRUE(make_plan(suite, modules, {{"tests/test_a.py"}}));
    modules[0].excluded = true;
    EXPECT_TRUE(make_plan(suite, modules, {}));
}

}  // namespace
}  // namespace compat::plan
