// The order of starts, signals and events, with a fake launcher and clock. Not here: real processes
// (children_test.cc, endings_test.cc).
#include "runner/exec/executor.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "tests/support/fake_launcher.h"

namespace compat::exec {
namespace {

using test::FakeClock;
using test::FakeLauncher;
using testing::ElementsAre;
using testing::IsEmpty;
using Signals = std::vector<std::pair<char, int>>;

class ExecutorTest : public testing::Test {
  protected:
    void begin(std::vector<std::string> names, int parallel = 2, Milliseconds timeout = {},
               Milliseconds test_timeout = {}) {
        Settings settings;
        settings.parallel = parallel;
        executor = std::make_unique<Executor>(
            launcher, clock, settings, [this](const RunEvent& event) { events.push_back(event); });
        std::vector<Job> jobs;
        for (auto& name : names) {
            Job job;
            job.name = name;
            job.argv = {"/bin/" + name};
            job.timeout = timeout;
            job.test_timeout = test_timeout;
            job.memory_bytes = kMemory;
            jobs.push_back(job);
        }
        executor->begin(std::move(jobs));
    }
    template <class T>
    std::vector<T> all() const {
        std::vector<T> found;
        for (const auto& event : events)
            if (const auto* e = std::get_if<T>(&event)) found.push_back(*e);
        return found;
    }
    const Signals& signals(const std::string& name) { return launcher.children.at(name)->signals; }

    static constexpr std::uint64_t kMemory = 1 << 20;
    FakeLauncher launcher;
    FakeClock clock;
    std::unique_ptr<Executor> executor;
    std::vector<RunEvent> events;
};

TEST_F(ExecutorTest, StartsAddedJobsBeforeWaitingOnes) {
    FakeLauncher fakes;
    std::vector<std::string> finished;
    Executor* running = nullptr;
    const auto named = [](std::string name) {
        Job job;
        job.name = std::move(name);
        job.argv = {"/bin/true"};
        return job;
    };
    Executor chain(fakes, clock, {.parallel = 1}, [&](const RunEvent& event) {
        const auto* end = std::get_if<JobFinished>(&event);
        if (!end) return;
        finished.push_back(running->job(end->job).name);
        if (end->job != 0) return;
        Job last = named("a last");
        last.last = true;
        running->add({named("a again"), last, named("a alone")});
    });
    running = &chain;
    chain.begin({named("a"), named("b")});
    for (const auto* name : {"a", "a again", "a alone", "b", "a last"}) {
        EXPECT_FALSE(chain.done());
        fakes.end(name);
    }
    EXPECT_TRUE(chain.done());
    EXPECT_THAT(fakes.order, ElementsAre("a", "a again", "a alone", "b", "a last"));
    EXPECT_THAT(finished, ElementsAre("a", "a again", "a alone", "b", "a last"));
}

TEST_F(ExecutorTest, WhileItHoldsItStartsOnlyJobsThatAreNotWarm) {
    executor = std::make_unique<Executor>(launcher, clock, Settings{.parallel = 3},
                                          [](const RunEvent&) {});
    std::vector<Job> jobs;
    for (const auto* name : {"warm a", "warm b", "c", "d", "e"}) {
        Job job;
        job.name = name;
        job.warm = job.name.starts_with("warm");
        jobs.push_back(job);
    }
    executor->begin(std::move(jobs), true);
    EXPECT_THAT(launcher.order, ElementsAre("c", "d")) << "one place is left for the zygote";
    launcher.end("c");
    launcher.end("d");
    launcher.end("e");
    EXPECT_FALSE(executor->done());
    EXPECT_THAT(launcher.order, ElementsAre("c", "d", "e"));
    executor->release();
    launcher.end("warm a");
    launcher.end("warm b");
    EXPECT_TRUE(executor->done());
}

TEST_F(ExecutorTest, AfterItHeldJobsStartInTheGivenOrderAgain) {
    executor = std::make_unique<Executor>(launcher, clock, Settings{.parallel = 2},
                                          [&](const RunEvent& event) {
                                              const auto* end = std::get_if<JobFinished>(&event);
                                              if (!end || end->job != 2) return;
                                              std::vector<Job> again(1);
                                              again[0].name = "fresh 1 again";
                                              executor->add(std::move(again));
                                          });
    std::vector<Job> jobs;
    for (const auto* name : {"last", "warm long", "fresh 1", "fresh 2", "warm short", "fresh 3"}) {
        Job job;
        job.name = name;
        job.warm = job.name.starts_with("warm");
        job.last = job.name == "last";
        jobs.push_back(job);
    }
    executor->begin(std::move(jobs), true);
    EXPECT_THAT(launcher.order, ElementsAre("fresh 1"));
    launcher.end("fresh 1");
    executor->release();
    for (const auto* name :
         {"fresh 1 again", "warm long", "fresh 2", "warm short", "fresh 3", "last"})
        launcher.end(name);
    EXPECT_TRUE(executor->done());
    EXPECT_THAT(launcher.order, ElementsAre("fresh 1", "fresh 1 again", "warm long", "fresh 2",
                                            "warm short", "fresh 3", "last"));
}

TEST_F(ExecutorTest, AloneJobsKeepTheirOrderWhileItHolds) {
    executor = std::make_unique<Executor>(launcher, clock, Settings{.parallel = 1},
                                          [](const RunEvent&) {});
    std::vector<Job> jobs(2);
    jobs[0].name = "warm";
    jobs[0].warm = true;
    jobs[1].name = "fresh";
    executor->begin(std::move(jobs), true);
    EXPECT_THAT(launcher.order, IsEmpty());
    executor->release();
    launcher.end("warm");
    launcher.end("fresh");
    EXPECT_THAT(launcher.order, ElementsAre("warm", "fresh"));
}

TEST_F(ExecutorTest, StartsJobsInOrderUpToTheParallelLimit) {
    begin({"a", "b", "c", "d"});
    EXPECT_THAT(launcher.order, ElementsAre("a", "b"));
    launcher.end("b");
    EXPECT_THAT(launcher.order, ElementsAre("a", "b", "c"));
    launcher.end("a");
    launcher.end("c");
    EXPECT_FALSE(executor->done());
    launcher.end("d", ProcessEnd::exited(3));
    EXPECT_TRUE(executor->done());

    ASSERT_TRUE(std::holds_alternative<RunStarted>(events.front()));
    ASSERT_TRUE(std::holds_alternative<RunFinished>(events.back()));
    EXPECT_THAT(all<RunFinished>()[0].not_started, IsEmpty());
    ASSERT_EQ(all<JobFinished>().size(), 4u);
    EXPECT_EQ(all<JobFinished>()[3].end, ProcessEnd::exited(3));
}

TEST_F(ExecutorTest, FinishesARunWithoutJobs) {
    begin({});
    EXPECT_TRUE(executor->done());
    EXPECT_EQ(events.size(), 2u);
}

TEST_F(ExecutorTest, ReportsAFailedSpawnAndRunsTheOtherJobs) {
    launcher.refused = "b";
    begin({"a", "b", "c"}, 1);
    launcher.end("a");
    launcher.end("c");
    EXPECT_TRUE(executor->done());
    ASSERT_EQ(all<JobFinished>().size(), 3u);
    EXPECT_EQ(all<JobFinished>()[1].end, ProcessEnd::spawn_failed("cannot start it"));
}

TEST_F(ExecutorTest, RetriesAStartWhileNoProcessIsAvailable) {
    launcher.can_spawn = false;
    begin({"a", "b", "c"}, 2);
    EXPECT_THAT(all<JobFinished>(), IsEmpty());
    clock.advance(Milliseconds(200));
    EXPECT_EQ(executor->next_deadline(), clock.steady());
    launcher.can_spawn = true;
    executor->tick();
    EXPECT_THAT(launcher.order, ElementsAre("a", "b"));
    launcher.can_spawn = false;
    launcher.end("a");
    // No limit while another job runs.
    for (int i = 0; i < 100; ++i) {
        clock.advance(Milliseconds(60'000));
        executor->tick();
    }
    EXPECT_EQ(all<JobFinished>().size(), 1u);
    launcher.end("b");
    EXPECT_FALSE(executor->done());
    for (int i = 0; i < 51; ++i) {
        clock.advance(Milliseconds(200));
        executor->tick();
    }
    ASSERT_TRUE(executor->done());
    EXPECT_THAT(describe(all<JobFinished>().back().end), testing::HasSubstr("no process"));
}

TEST_F(ExecutorTest, DumpsStacksThenTerminatesThenKillsOnATimeout) {
    begin({"a"}, 1, Milliseconds(1000));
    Progress progress;
    progress.session = true;
    executor->report(0, progress);
    EXPECT_EQ(executor->next_deadline(), SteadyTime(Milliseconds(1000)));
    clock.advance(Milliseconds(999));
    executor->tick();
    EXPECT_THAT(signals("a"), IsEmpty());
    clock.advance(Milliseconds(1));
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'l', SIGUSR1}}));
    clock.advance(Milliseconds(2000));
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'l', SIGUSR1}, {'g', SIGTERM}}));
    clock.advance(Milliseconds(5000));
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'l', SIGUSR1}, {'g', SIGTERM}, {'g', SIGKILL}}));
    launcher.end("a", ProcessEnd::signaled(SIGKILL));
    EXPECT_EQ(executor->next_deadline(), std::nullopt);
    EXPECT_EQ(all<JobFinished>()[0].end, ProcessEnd::timed_out(Milliseconds(1000), false));
    EXPECT_DOUBLE_EQ(all<JobFinished>()[0].cost.duration_s, 8.0);
}

TEST_F(ExecutorTest, ReportsAChildThatSigkillDoesNotEndAndRunsTheOthers) {
    begin({"a", "b"}, 1, Milliseconds(1000));
    for (const int ms : {1000, 5000, 5000}) {
        clock.advance(Milliseconds(ms));
        executor->tick();
    }
    const auto finished = all<JobFinished>();
    ASSERT_EQ(finished.size(), 1u);
    EXPECT_FALSE(finished[0].end.of_test);
    ASSERT_EQ(finished[0].leaked.size(), 1u);
    EXPECT_FALSE(finished[0].leaked[0].killed);
    EXPECT_THAT(launcher.order, ElementsAre("a", "b"));
}

TEST_F(ExecutorTest, RestartsTheTestTimeoutAtEachTestStart) {
    begin({"a"}, 1, Milliseconds(10'000), Milliseconds(1000));
    EXPECT_EQ(executor->shortest_test_timeout(), Milliseconds(1000));
    Progress progress;
    progress.session = true;
    executor->report(0, progress);
    EXPECT_EQ(executor->next_deadline(), SteadyTime(Milliseconds(10'000))) << "no test runs";

    const auto step = [&](int ms, const char* current, bool start) {
        clock.advance(Milliseconds(ms));
        executor->tick();
        progress.current = current;
        progress.starts += start;
        executor->report(0, progress);
        return executor->next_deadline();
    };
    EXPECT_EQ(step(100, "x", true), SteadyTime(Milliseconds(1100)));
    EXPECT_EQ(step(900, "x", false), SteadyTime(Milliseconds(1100))) << "the same test";
    EXPECT_EQ(step(50, "x", true), SteadyTime(Milliseconds(2050))) << "started again";
    EXPECT_EQ(step(50, "", false), SteadyTime(Milliseconds(10'000)));
    EXPECT_EQ(step(400, "y", true), SteadyTime(Milliseconds(2500)));
    EXPECT_EQ(all<JobProgress>().back().progress.since, SteadyTime(Milliseconds(1500)));
    EXPECT_THAT(signals("a"), IsEmpty());
    clock.advance(Milliseconds(1000));
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'l', SIGUSR1}}));
    // A test that starts during termination does not extend it.
    EXPECT_EQ(step(100, "z", true), SteadyTime(Milliseconds(4500)));
    launcher.end("a", ProcessEnd::signaled(SIGTERM));
    const auto timed_out = all<JobFinished>()[0].end;
    EXPECT_TRUE(timed_out.of_test);
    EXPECT_EQ(timed_out.limit_s, 1.0);
}

TEST_F(ExecutorTest, PrefersTheModuleTimeoutWhenBothExpire) {
    begin({"a"}, 1, Milliseconds(1000), Milliseconds(1000));
    Progress progress;
    progress.current = "x";
    executor->report(0, progress);
    clock.advance(Milliseconds(1000));
    executor->tick();
    launcher.end("a", ProcessEnd::signaled(SIGTERM));
    EXPECT_EQ(all<JobFinished>()[0].end.kind, ProcessEnd::Kind::timed_out);
    EXPECT_FALSE(all<JobFinished>()[0].end.of_test);
}

TEST_F(ExecutorTest, KillsAChildPastItsMemoryLimitAtOnce) {
    begin({"a"}, 1, Milliseconds(1000));
    launcher.children["a"]->state.rss_bytes = kMemory;
    executor->tick();
    EXPECT_THAT(signals("a"), IsEmpty());
    launcher.children["a"]->state.rss_bytes = kMemory + 1;
    launcher.children["a"]->shared_bytes = 1;
    executor->tick();
    EXPECT_THAT(signals("a"), IsEmpty()) << "shared pages count once";
    launcher.children["a"]->shared_bytes = 0;
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGKILL}}));
    launcher.end("a", ProcessEnd::signaled(SIGKILL));
    const auto out = all<JobFinished>()[0].end;
    EXPECT_EQ(out.kind, ProcessEnd::Kind::out_of_memory);
    EXPECT_EQ(out.limit_bytes, kMemory);
    EXPECT_EQ(out.peak_rss_bytes, kMemory + 1);
}

TEST_F(ExecutorTest, EndsAChildWhoseLogCannotBeWritten) {
    begin({"a"}, 1, Milliseconds(1000));
    launcher.children["a"]->state.log_error = Error{ErrorKind::io, "no space", {}, {}};
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGTERM}}));
    launcher.end("a", ProcessEnd::signaled(SIGTERM));
    EXPECT_THAT(all<JobFinished>()[0].end.detail, testing::HasSubstr("no space"));
}

TEST_F(ExecutorTest, DoesNotSignalAnExitedChildForItsLeaks) {
    begin({"a"}, 1, Milliseconds(1000));
    launcher.children["a"]->state.exited = true;
    clock.advance(Milliseconds(1000));
    executor->tick();
    executor->stop("interrupted by SIGINT");
    EXPECT_THAT(signals("a"), IsEmpty());
    EXPECT_EQ(executor->next_deadline(), std::nullopt);
    launcher.end("a", ProcessEnd::exited(0));
    EXPECT_EQ(all<JobFinished>()[0].end, ProcessEnd::exited(0));
}

TEST_F(ExecutorTest, ExcludesPausedTimeFromDeadlines) {
    begin({"a"}, 1, Milliseconds(2000), Milliseconds(1000));
    Progress progress;
    progress.current = "x";
    executor->report(0, progress);
    clock.advance(Milliseconds(500));
    executor->pause();
    clock.advance(Milliseconds(3'600'000));
    executor->resume();
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGSTOP}, {'g', SIGCONT}}));
    executor->tick();
    EXPECT_EQ(signals("a").size(), 2u);
    EXPECT_EQ(executor->next_deadline(), clock.steady() + Milliseconds(500));
    launcher.end("a");
    EXPECT_DOUBLE_EQ(all<JobFinished>()[0].cost.duration_s, 0.5);
}

TEST_F(ExecutorTest, TerminatesAChildThatHandlesNoSigusr1) {
    begin({"a"}, 1, Milliseconds(1000));
    clock.advance(Milliseconds(1000));
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGTERM}}));
}

TEST_F(ExecutorTest, TerminatesOnTheFirstStopAndKillsOnTheSecond) {
    begin({"a", "b", "c"});
    executor->stop("interrupted by SIGINT");
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGTERM}}));
    executor->stop("interrupted by SIGINT");
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGTERM}, {'g', SIGKILL}}));
    launcher.end("a", ProcessEnd::signaled(SIGTERM));
    launcher.end("b", ProcessEnd::exited(0));
    EXPECT_TRUE(executor->done());
    EXPECT_THAT(launcher.order, ElementsAre("a", "b"));
    EXPECT_EQ(all<JobFinished>()[0].end.detail, "interrupted by SIGINT");
    EXPECT_TRUE(all<RunFinished>()[0].stopped);
    EXPECT_THAT(all<RunFinished>()[0].not_started, ElementsAre(2u));
}

TEST_F(ExecutorTest, KillsAChildThatIgnoresAStop) {
    begin({"a"}, 1);
    executor->stop("interrupted by SIGTERM");
    clock.advance(Milliseconds(5000));
    executor->tick();
    EXPECT_EQ(signals("a"), (Signals{{'g', SIGTERM}, {'g', SIGKILL}}));
}

TEST_F(ExecutorTest, RunsTenThousandJobs) {
    std::vector<std::string> names;
    for (int i = 0; i < 10'000; ++i) names.push_back(fmt::format("job{}", i));
    begin(names, 8);
    for (int i = 0; i < 10'000; ++i) launcher.end(fmt::format("job{}", i));
    EXPECT_TRUE(executor->done());
    EXPECT_EQ(launcher.order, names);
}

TEST_F(ExecutorTest, DoesNotTimeOutATestWhileEventsAreUnread) {
    begin({"a"}, 1, {}, Milliseconds(1000));
    Progress progress;
    progress.current = "t";
    progress.starts = 1;
    progress.behind = true;
    executor->report(0, progress);
    clock.advance(Milliseconds(2000));
    EXPECT_FALSE(executor->next_deadline());
    executor->tick();
    EXPECT_THAT(signals("a"), IsEmpty());
    progress.behind = false;
    executor->report(0, progress);
    ASSERT_TRUE(executor->next_deadline());
    executor->tick();
    EXPECT_FALSE(signals("a").empty());
}

}  // namespace
}  // namespace compat::exec
