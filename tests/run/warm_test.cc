#include "runner/run/warm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::run {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Names of the jobs that are fresh, of `count` first attempts "a", "b", ...
std::vector<std::string> fresh(const store::SuitePast& past, int parallel, size_t count = 16,
                               const std::set<std::string>& spared = {}) {
    std::vector<exec::Job> jobs(count);
    for (size_t i = 0; i < count; ++i) {
        jobs[i].name = std::string(1, static_cast<char>('a' + i));
        jobs[i].warm = true;
    }
    choose_fresh_jobs(jobs, past, spared, parallel);
    std::vector<std::string> names;
    for (const auto& job : jobs)
        if (!job.warm) names.push_back(job.name);
    return names;
}

TEST(FreshJobs, AreThoseThatNeededAFreshProcessAndAFewNewOnes) {
    store::SuitePast past;
    EXPECT_THAT(fresh(past, 2), ElementsAre("a")) << "one core would be idle";
    EXPECT_THAT(fresh(past, 1), IsEmpty());
    EXPECT_THAT(fresh(past, 64), ElementsAre("a", "b")) << "an eighth";
    EXPECT_THAT(fresh(past, 64, 7), IsEmpty());
    past.seconds = {{"a", 3}, {"c", 1}, {"d", 1}};
    EXPECT_THAT(fresh(past, 64), ElementsAre("b", "e"));
    past.needs_fresh_process = {"a", "of another target"};
    EXPECT_THAT(fresh(past, 64), ElementsAre("a", "b")) << "a takes one of the two";
    past.needs_fresh_process = {"a", "c", "d"};
    EXPECT_THAT(fresh(past, 2), ElementsAre("a", "c", "d")) << "no core is idle";
    EXPECT_THAT(fresh(past, 1), ElementsAre("a", "c", "d"));
    EXPECT_THAT(fresh(past, 1, 16, {"c", "e"}), ElementsAre("a", "d"));
}

}  // namespace
}  // namespace compat::run
