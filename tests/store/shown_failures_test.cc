#include "runner/store/shown_failures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/store/samples.h"

namespace compat::store {
namespace {

using parsers::State;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

enum Process { in_fork, in_fresh };

struct Ran {
    std::string id;
    State state = State::failed;
    std::string signature = "E: no hub";
};

class ShownFailuresTest : public testing::Test {
  protected:
    Store store = std::move(*Store::temporary());
    int second = 0;

    RunInfo begin(const std::string& device = "cpu") {
        ++second;
        RunInfo info = samples::run(fmt::format("r{}", second), second);
        info.shard.clear();
        info.repeat_of.clear();
        info.subset.clear();
        info.device = device;
        EXPECT_TRUE(store.begin_run(info));
        return info;
    }
    void save(const RunInfo& run, int number, Process process, const std::vector<Ran>& tests,
              const std::string& path = "a.py") {
        JobResult job = samples::job(path, number);
        job.kind = number == 1 ? AttemptKind::whole : AttemptKind::again;
        job.record.forked = process == in_fork;
        job.record.cases.clear();
        for (const Ran& test : tests) {
            auto& saved = job.record.cases.emplace_back(samples::test(test.id, test.state));
            if (test.state == State::passed) continue;
            saved.failure = samples::failure("no hub");
            saved.failure->signature = test.signature;
        }
        ASSERT_TRUE(store.save_job(run.id, job));
    }
    ShownFailures shown_before(const RunInfo& run) {
        auto shown = shown_failures(store, run);
        EXPECT_TRUE(shown) << to_line(shown.error());
        return shown.value_or(ShownFailures{});
    }
};

TEST_F(ShownFailuresTest, AreThoseOfFreshProcessesOfComparableRuns) {
    const RunInfo first = begin();
    save(first, 1, in_fork, {{"t"}, {"u"}});
    EXPECT_THAT(shown_before(first).signatures, IsEmpty()) << "its own do not count";
    EXPECT_THAT(shown_before(begin()).signatures, IsEmpty()) << "a fork shows nothing";
    save(first, 2, in_fresh, {{"t"}, {"u", State::errored, "E: other"}});
    save(first, 1, in_fresh, {{"v", State::failed, ""}, {"w", State::crashed}}, "b.py");
    const auto shown = shown_before(begin());
    EXPECT_THAT(shown.signatures,
                ElementsAre(Pair("t", ElementsAre("E: no hub")), Pair("u", ElementsAre("E: other")),
                            Pair("w", ElementsAre("E: no hub"))));
    EXPECT_THAT(shown.modules, IsEmpty()) << "u failed in its fork in another way";
    EXPECT_THAT(shown_before(begin("mps")).signatures, IsEmpty());
}

TEST_F(ShownFailuresTest, ModulesAreSparedThatFailedInNothingElseWhenTheyWereLastForked) {
    const RunInfo first = begin();
    save(first, 1, in_fork, {{"t"}});
    save(first, 2, in_fresh, {{"t"}});
    save(first, 1, in_fork, {{"of_b", State::crashed}}, "b.py");
    save(first, 2, in_fresh, {{"of_b", State::crashed}}, "b.py");
    save(first, 1, in_fresh, {{"of_c"}}, "c.py");
    EXPECT_THAT(shown_before(begin()).modules, ElementsAre("a.py"));
    save(begin(), 1, in_fork, {{"t", State::failed, "E: new"}});
    EXPECT_THAT(shown_before(begin()).modules, IsEmpty());
}

TEST_F(ShownFailuresTest, ATestThatPassedIsShownAgain) {
    const RunInfo first = begin();
    save(first, 1, in_fresh, {{"mended"}, {"flaky"}, {"broken"}});
    save(first, 2, in_fresh, {{"flaky", State::passed}});
    const RunInfo second = begin();
    save(second, 1, in_fork, {{"mended", State::passed}, {"flaky"}, {"broken"}});
    EXPECT_THAT(shown_before(begin()).signatures,
                ElementsAre(Pair("broken", ElementsAre("E: no hub"))));
    save(begin(), 1, in_fresh, {{"mended"}});
    EXPECT_THAT(shown_before(begin()).signatures,
                UnorderedElementsAre(Pair("broken", testing::_), Pair("mended", testing::_)))
        << "it broke anew";
}

TEST_F(ShownFailuresTest, AreForgottenAfterTenRuns) {
    save(begin(), 1, in_fresh, {{"t"}});
    for (int run = 0; run < 9; ++run) save(begin(), 1, in_fork, {{"t"}});
    EXPECT_THAT(shown_before(begin()).modules, ElementsAre("a.py"));
    EXPECT_THAT(shown_before(begin()).modules, IsEmpty());
}

}  // namespace
}  // namespace compat::store
