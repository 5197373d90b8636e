// Limits that end children, and processes that children leak. Not here: the order of signals
// (executor_test.cc), the rules of ownership (process_owners_test.cc).
#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "runner/exec/process_table.h"
#include "tests/exec/children_fixture.h"

namespace compat::exec {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

using test_support::kHour;

class EndingsTest : public test_support::ChildrenTest {
  protected:
    void expect_gone(size_t index) {
        for (const auto& process : finished.at(index).leaked) {
            EXPECT_TRUE(process.killed) << process.state;
            const auto stat = process_table().find(process.pid);
            EXPECT_TRUE(!stat || stat->ended) << process.pid;
        }
    }
    const ProcessEnd& timed_out(size_t index) {
        const ProcessEnd& end = finished.at(index).end;
        EXPECT_EQ(end.kind, ProcessEnd::Kind::timed_out) << describe(end);
        return end;
    }
};

TEST_F(EndingsTest, EndsAChildWhoseTestHangsAndLogsItsStacks) {
    settings.dump_grace = kHour;
    // Each of three tests stays within the limit, all together do not.
    std::vector<std::string> words{"tests"};
    for (const char* name : {"a", "b", "c"}) {
        words.push_back(fmt::format("{}@{}", name, (dir / name).string()));
        const auto runs = [this, name] {
            if (progress_of[0].current != name) return false;
            tree.write(name);  // ends it
            return true;
        };
        skip_when(runs, kHour * 3 / 4);
    }
    words.push_back("the-hang");
    add(words).test_timeout = kHour;
    add({"tests", "a=0.1"}).test_timeout = 100 * kHour;
    skip_when([this] { return progress_of[0].current == "the-hang"; }, kHour);
    skip_when(logged(0, "most recent call first"), settings.dump_grace);
    run();
    EXPECT_TRUE(timed_out(0).of_test);
    EXPECT_EQ(how(0), "test timed out after 1h 00m");
    EXPECT_EQ(progress_of[0].current, "the-hang");
    EXPECT_THAT(log(0), HasSubstr("most recent call first"));
    EXPECT_GE(wall_time(0), kHour * 9 / 4 + kHour);
    EXPECT_EQ(how(1), "exit code 0");
}

TEST_F(EndingsTest, LogsTheStacksOfAnImportThatHangs) {
    settings.dump_grace = kHour;
    add({"import-hangs"}, kHour);
    skip_when([this] { return progress_of[0].session; }, kHour);
    skip_when(logged(0, "while_imported"), settings.dump_grace);
    run();
    EXPECT_FALSE(timed_out(0).of_test);
    EXPECT_THAT(log(0), HasSubstr("while_imported"));
}

TEST_F(EndingsTest, TerminatesAStoppedChildWithoutAKill) {
    settings.term_grace = kHour;
    add({"stopped"}, kHour);
    int pid = 0;
    const auto is_stopped = [&pid] {
        const auto info = process_table().find(pid);
        return info && info->state == 'T';
    };
    skip_when(is_stopped, kHour);
    run(1, [&](const RunEvent& event) {
        if (const auto* started = std::get_if<JobStarted>(&event)) pid = started->pid;
    });
    EXPECT_THAT(how(0), StartsWith("timed out"));
    EXPECT_LT(wall_time(0), kHour + settings.term_grace);
}

TEST_F(EndingsTest, NamesAndKillsAGrandchildThatHoldsTheOutput) {
    add({"leak"});
    run();
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_EQ(log(0), "leader done\n");
    // The shell, and perhaps the sleep that it starts.
    EXPECT_THAT(leaked_by(0), testing::Contains(HasSubstr("the-leaked-one")));
    EXPECT_LT(wall_time(0).count(), 300) << "it sleeps for 600 s";
    expect_gone(0);
}

TEST_F(EndingsTest, HelpersThatEndAfterTheirLeaderCleanUpFirst) {
    add({"helper", "0.5", (dir / "clean").string()});
    add({"helper", "600", (dir / "never").string()});
    run(2);
    EXPECT_THAT(leaked_by(0), IsEmpty());
    EXPECT_TRUE(std::filesystem::exists(dir / "clean"));
    EXPECT_THAT(leaked_by(1), ElementsAre(HasSubstr("torch_shm_manager")));
    for (const size_t i : {0, 1}) expect_gone(i);
}

TEST_F(EndingsTest, KeepsAllOutputThatADescendantWroteBeforeItWasKilled) {
    for (int i = 0; i < 10; ++i) add({"flood-by-descendant"}).log_bytes = 0;
    run(5);
    for (size_t i = 0; i < jobs.size(); ++i) {
        const std::string text = log(i);
        ASSERT_GT(text.size(), 4096u);
        for (size_t at = 0; at + 8 <= text.size(); at += 8)
            ASSERT_EQ(text.substr(at, 8), fmt::format("{:07}\n", at / 8)) << "job " << i;
        EXPECT_EQ(finished[i].cost.dropped_log_bytes, 0);
    }
}

TEST_F(EndingsTest, NamesADaemonWithTheJobThatStartedIt) {
    add({"daemon", "-first"});
    add({"tests", "a=1.5"});
    add({"daemon", "-second"});
    run(3);
    EXPECT_THAT(leaked_by(0), ElementsAre("sleep-first 600 "));
    EXPECT_THAT(leaked_by(1), IsEmpty());
    EXPECT_THAT(leaked_by(2), ElementsAre("sleep-second 600 "));
    for (const size_t i : {0, 2}) expect_gone(i);
}

TEST_F(EndingsTest, KnowsADaemonWithoutEnvironmentByItsDescent) {
    add({"slow-daemon-without-environment"});
    add({"tests", "a=3.5"});
    run(2);
    EXPECT_THAT(leaked_by(0), ElementsAre("sleep 600 "));
    EXPECT_THAT(leaked_by(1), IsEmpty());
    expect_gone(0);
}

TEST_F(EndingsTest, GivesAnOrphanWithoutEnvironmentToTheOnlyJob) {
    add({"daemon-without-environment"});
    add({"exit", "0"});
    run(1);
    EXPECT_THAT(leaked_by(0), ElementsAre("sleep 600 "));
    EXPECT_THAT(leaked_by(1), IsEmpty());
    expect_gone(0);
}

TEST_F(EndingsTest, KnowsAnOrphanWithoutEnvironmentByTheMarkOfItsLeader) {
    const std::string others_end = "a@" + (dir / "others end").string();
    add({"tests", others_end});
    add({"daemon-without-environment"});
    add({"tests", others_end});
    run(3, [&](const RunEvent& event) {
        const auto* done = std::get_if<JobFinished>(&event);
        if (done && done->job == 1) tree.write("others end");
    });
    EXPECT_THAT(leaked_by(0), IsEmpty());
    EXPECT_THAT(leaked_by(1), ElementsAre("sleep 600 "));
    EXPECT_THAT(leaked_by(2), IsEmpty());
    expect_gone(1);
}

TEST_F(EndingsTest, KillsProcessesThatKeepForking) {
    add({"bomb", "7"});
    add({"hop", "0.002"});
    add({"hop", "0"});
    run(1);
    EXPECT_EQ(finished[0].leaked.size(), 127u);
    EXPECT_FALSE(finished[1].leaked.empty());
    for (const size_t i : {0, 1, 2}) {
        EXPECT_EQ(how(i), "exit code 0");
        expect_gone(i);
        EXPECT_LT(wall_time(i).count(), 25) << "the chain ends by itself after 30 s";
    }
}

TEST_F(EndingsTest, LeavesAChildOfNoJobAlone) {
    const pid_t bystander = ::fork();
    if (bystander == 0) {
        ::pause();
        ::_exit(0);
    }
    add({"daemon"});
    run();
    EXPECT_EQ(finished[0].leaked.size(), 1u);
    EXPECT_NE(process_table().find(bystander)->state, 'Z');
    ::kill(bystander, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(bystander, &status, 0), bystander) << "only the test waits for it";
}

TEST_F(EndingsTest, CountsSharedMemoryOnceAgainstTheLimit) {
    add({"share", "100", dir / "go"}).memory_bytes = 300u << 20;
    run(1, [&, was_measured = measured(0, "grown")](const RunEvent&) mutable {
        if (was_measured()) tree.write("go");
    });
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_GT(finished[0].cost.peak_rss_bytes, 600 << 20) << "it was measured";
}

TEST_F(EndingsTest, SumsTheMemoryOfAllProcessesOfAJob) {
    add({"hog", "400"}).memory_bytes = 300u << 20;
    add({"hog", "100"}, kHour).memory_bytes = 300u << 20;
    skip_when(measured(1, "grown\ngrown\n"), kHour);
    run();
    const ProcessEnd& end = finished[0].end;
    ASSERT_EQ(end.kind, ProcessEnd::Kind::out_of_memory) << how(0);
    EXPECT_EQ(end.limit_bytes, 300u << 20);
    EXPECT_GT(end.peak_rss_bytes, 300u << 20);
    EXPECT_EQ(static_cast<std::uint64_t>(finished[0].cost.peak_rss_bytes), end.peak_rss_bytes);
    EXPECT_LT(finished[0].cost.max_rss_bytes, 300 << 20) << "no process alone was";
    EXPECT_THAT(leaked_by(0), IsEmpty()) << "the kill of the group ends all of them";
    EXPECT_THAT(how(1), StartsWith("timed out"));
    EXPECT_GT(finished[1].cost.peak_rss_bytes, 100 << 20);
}

TEST_F(EndingsTest, CountsBytesWrittenToDisk) {
    add({"write", "3000000"});
    run();
    EXPECT_GE(finished[0].cost.written_bytes, 3'000'000);
    EXPECT_LT(finished[0].cost.written_bytes, 4'000'000);
    EXPECT_GE(finished[0].cost.peak_rss_bytes, finished[0].cost.max_rss_bytes);
}

// The exit of the first job and its last output are both queued when the loop runs again. The first
// handler destroys both descriptors, and the next job reuses their numbers.
TEST_F(EndingsTest, DoesNotTakeAQueuedEventOfOneJobForTheEndOfTheNext) {
    add({"last-word"});
    add({"tests", "the-hang"}, Milliseconds(500));
    run(1, [&](const RunEvent& event) {
        const auto* started = std::get_if<JobStarted>(&event);
        if (started && started->job == 0) std::this_thread::sleep_for(Milliseconds(1000));
    });
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_THAT(how(1), StartsWith("timed out"));
}

TEST_F(EndingsTest, EndsOtherJobsInTimeDuringAFlood) {
    add({"flood-forever"}, 10 * kHour).log_bytes = 1 << 20;
    add({"hang"}, kHour);
    add({"tests", "the-hang"}).test_timeout = kHour;
    const auto all_run = [this] {
        std::error_code error;
        return std::filesystem::file_size(jobs[0].log.path(), error) == 1 << 20 &&
               log(1) == "hanging\n" && progress_of[2].current == "the-hang";
    };
    skip_when(all_run, kHour);
    skip_when([this] { return finished.size() == 2; }, 10 * kHour);
    std::vector<size_t> order;
    run(3, [&](const RunEvent& event) {
        if (const auto* done = std::get_if<JobFinished>(&event)) order.push_back(done->job);
    });
    EXPECT_THAT(order, ElementsAre(testing::_, testing::_, 0u)) << "the flood is the last to end";
    for (const size_t i : {0, 1, 2}) timed_out(i);
    EXPECT_GT(finished[0].cost.dropped_log_bytes, 0);
}

// A process in a frozen cgroup is in an uninterruptible sleep: SIGKILL does not end it.
TEST_F(EndingsTest, ReportsAChildInAnUninterruptibleSleepAndGoesOn) {
    const std::filesystem::path group = "/sys/fs/cgroup/freezer/" + run_id;
    std::error_code error;
    if (!std::filesystem::create_directory(group, error))
        GTEST_SKIP() << "cannot create a freezer cgroup: " << error.message();
    settings.kill_grace = Milliseconds(500);
    add({"hang"}, kHour);
    add({"exit", "0"});
    int pid = 0;
    bool frozen = false;
    skip_when([&frozen] { return frozen; }, kHour);
    run(1, [&](const RunEvent& event) {
        const auto* started = std::get_if<JobStarted>(&event);
        if (started && started->job == 0) pid = started->pid;
        if (!std::holds_alternative<Tick>(event) || pid == 0 || log(0) != "hanging\n") return;
        std::ofstream(group / "cgroup.procs") << std::exchange(pid, 0) << std::flush;
        std::ofstream(group / "freezer.state") << "FROZEN" << std::flush;
        frozen = true;
    });
    EXPECT_THAT(how(0), StartsWith("timed out"));
    EXPECT_EQ(log(0), "hanging\n");
    ASSERT_EQ(finished[0].leaked.size(), 1u);
    EXPECT_FALSE(finished[0].leaked[0].killed);
    EXPECT_EQ(finished[0].leaked[0].state, "uninterruptible sleep (D)");
    EXPECT_EQ(how(1), "exit code 0") << "other jobs run";
    EXPECT_THAT(leaked_by(1), IsEmpty()) << "it is reported once";

    std::ofstream(group / "freezer.state") << "THAWED" << std::flush;
    ::waitpid(finished[0].leaked[0].pid, nullptr, 0);
    for (int i = 0; i < 100 && !std::filesystem::remove(group, error); ++i)
        std::this_thread::sleep_for(Milliseconds(10));
}

TEST_F(EndingsTest, EndsTheRunWhenTheDiskIsFull) {
    const auto disk = dir / "disk";
    std::filesystem::create_directory(disk);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
    add({"flood-then-hang", "100000"}).log = disk / "log";
    add({"hang"});
    add({"exit", "0"});
    run(2);
    EXPECT_THAT(how(0), AllOf(HasSubstr("cannot write the log"), HasSubstr("No space left")));
    ASSERT_TRUE(finished[0].infrastructure_error);
    EXPECT_THAT(how(1), HasSubstr("No space left"));
    EXPECT_THAT(ended.not_started, ElementsAre(2u));
    EXPECT_LT(wall_time(0).count(), 300) << "it would hang for 600 s";
    EXPECT_EQ(std::filesystem::file_size(disk / "log"), 64u << 10) << "all that fits";
    ::umount(disk.c_str());
}

}  // namespace
}  // namespace compat::exec
