#include "runner/run/warm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FreshModules, AreThoseThatNeededAFreshProcessAndAFewNewOnes) {
    std::vector<archive::PlannedModule> plan;
    for (char name = 'a'; name < 'a' + 16; ++name) plan.push_back({std::string(1, name), {}});
    store::SuitePast past;
    EXPECT_THAT(fresh_modules(plan, past, 2), ElementsAre("a")) << "one core would be idle";
    EXPECT_THAT(fresh_modules(plan, past, 1), IsEmpty());
    EXPECT_THAT(fresh_modules(plan, past, 64), ElementsAre("a", "b")) << "an eighth of the plan";
    past.seconds = {{"a", 3}, {"c", 1}, {"d", 1}};
    EXPECT_THAT(fresh_modules(plan, past, 64), ElementsAre("b", "e"));
    past.never_forked = {"c"};
    EXPECT_THAT(fresh_modules(plan, past, 64), ElementsAre("b", "c"));
    past.needs_fresh_process = {"a", "d", "of another target"};
    EXPECT_THAT(fresh_modules(plan, past, 2), ElementsAre("a", "b", "d"));
    plan.resize(7);
    EXPECT_THAT(fresh_modules(plan, {}, 2), IsEmpty());
}

}  // namespace
}  // namespace compat::run
