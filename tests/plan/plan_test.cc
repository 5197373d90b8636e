#include "runner/plan/plan.h"

#include <gmock/gmock.h>

#include <algorithm>
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

TEST(MakePlan, EverythingByDefaultLargestFirstAndSaysWhatIsLeftOut) {
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

TEST(MakePlan, TheSameModuleTwiceIsOneJob) {
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

TEST(MakePlan, KnownDurationsComeFirstOthersByTheirRate) {
    // 2 s for 20 bytes: the unknown test_b (300 bytes) counts as 30 s.
    const auto plan = make_plan(suite(), kModules, {},
                                {{"test/test_a.py", 0.5}, {"test/test_c.py", 1.5}, {"gone.py", 9}});
    ASSERT_TRUE(plan.has_value()) << to_line(plan.error());
    EXPECT_THAT(names(*plan), ElementsAre("test/test_b.py", "test/test_c.py", "test/test_a.py"));

    const auto slow_a =
        make_plan(suite(), kModules, {}, {{"test/test_a.py", 100}, {"test/test_b.py", 1}});
    ASSERT_TRUE(slow_a.has_value());
    EXPECT_THAT(names(*slow_a), ElementsAre("test/test_a.py", "test/test_c.py", "test/test_b.py"));
}

TEST(MakePlan, IsTheSameForTheSameInput) {
    std::vector<ModuleFile> modules;
    for (int i = 0; i < 200; ++i)
        modules.push_back({"test/test_" + std::to_string(i) + ".py", i % 7u});
    const auto sorted = make_plan(suite(), modules, {});
    std::shuffle(modules.begin(), modules.end(), std::mt19937(7));
    const auto shuffled = make_plan(suite(), modules, {});
    ASSERT_TRUE(sorted.has_value() && shuffled.has_value());
    EXPECT_EQ(names(*sorted), names(*shuffled));
}

TEST(MakePlan, NothingLeftIsAnError) {
    const std::vector<ModuleFile> only_examples{{"test/examples/test_long.py", 900}};
    const auto plan = make_plan(suite(), only_examples, {});
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().kind, ErrorKind::nothing_selected);
    EXPECT_EQ(to_line(plan.error()),
              "no test module selected: group examples left out (1 module): name it to run it");
}

TEST(MakePlan, OneBadTargetSpoilsTheCommand) {
    const auto plan = make_plan(suite(), kModules, {{"test_a.py", "test_aa.py"}});
    ASSERT_FALSE(plan.has_value());
    EXPECT_EQ(plan.error().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace compat::plan
