// How children are ended that do not end themselves, and what is ended that they leave behind.
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

TEST_F(EndingsTest, ATestThatHangsEndsItsChildWithStacksInTheLog) {
    // Three tests that take a time-out together, each well within its own.
    add({"tests", "a=0.8", "b=0.8", "c=0.8", "the-hang"}).test_timeout = Milliseconds(2000);
    add({"tests", "a=0.1"}).test_timeout = Milliseconds(2000);
    Progress last;
    run(2, [&](const RunEvent& event) {
        const auto* progress = std::get_if<JobProgress>(&event);
        if (progress && progress->job == 0) last = progress->progress;
    });
    EXPECT_TRUE(timed_out(0).of_test);
    EXPECT_EQ(how(0), "test timed out after 2.0s");
    EXPECT_EQ(last.current, "the-hang");
    EXPECT_THAT(log(0), HasSubstr("most recent call first"));
    EXPECT_GE(finished[0].duration.count(), 2.4 + 2.0);
    EXPECT_EQ(how(1), "exit code 0");
}

TEST_F(EndingsTest, AnImportThatHangsLeavesItsStacks) {
    add({"import-hangs"}, Milliseconds(700));
    run();
    EXPECT_FALSE(timed_out(0).of_test);
    EXPECT_THAT(log(0), HasSubstr("while_imported"));
}

TEST_F(EndingsTest, OneThatWasStoppedIsEndedInOrder) {
    settings.term_grace = Milliseconds(300'000);
    add({"stopped"}, Milliseconds(300));
    run();
    EXPECT_THAT(how(0), StartsWith("timed out"));
    EXPECT_LT(finished[0].duration, settings.term_grace);
}

TEST_F(EndingsTest, AGrandchildThatHoldsTheOutputIsNamedAndKilled) {
    add({"leak"});
    run();
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_EQ(log(0), "leader done\n");
    // The shell, and the sleep it may have started by then.
    EXPECT_THAT(left_by(0), testing::Contains(HasSubstr("the-leaked-one")));
    EXPECT_LT(finished[0].duration.count(), 300) << "it sleeps for 600 s";
    expect_gone(0);
}

TEST_F(EndingsTest, NothingOfADescendantsOutputIsLostAtTheEnd) {
    for (int i = 0; i < 10; ++i) add({"flood-by-descendant"}).log_bytes = 0;
    run(5);
    for (size_t i = 0; i < jobs.size(); ++i) {
        const std::string text = log(i);
        ASSERT_GT(text.size(), 4096u);
        for (size_t at = 0; at + 8 <= text.size(); at += 8)
            ASSERT_EQ(text.substr(at, 8), fmt::format("{:07}\n", at / 8)) << "job " << i;
        EXPECT_EQ(finished[i].dropped_log_bytes, 0u);
    }
}

TEST_F(EndingsTest, ADaemonIsNamedWithTheJobThatStartedIt) {
    add({"daemon", "-first"});
    add({"tests", "a=1.5"});
    add({"daemon", "-second"});
    run(3);
    EXPECT_THAT(left_by(0), ElementsAre("sleep-first 600 "));
    EXPECT_THAT(left_by(1), IsEmpty());
    EXPECT_THAT(left_by(2), ElementsAre("sleep-second 600 "));
    for (const size_t i : {0, 2}) expect_gone(i);
}

TEST_F(EndingsTest, ADaemonThatDroppedItsEnvironmentIsKnownByItsDescent) {
    add({"slow-daemon-without-environment"});
    add({"tests", "a=3.5"});
    run(2);
    EXPECT_THAT(left_by(0), ElementsAre("sleep 600 "));
    EXPECT_THAT(left_by(1), IsEmpty());
    expect_gone(0);
}

TEST_F(EndingsTest, AnOrphanWithoutAnythingBelongsToTheOnlyJob) {
    add({"daemon-without-environment"});
    add({"exit", "0"});
    run(1);
    EXPECT_THAT(left_by(0), ElementsAre("sleep 600 "));
    EXPECT_THAT(left_by(1), IsEmpty());
    expect_gone(0);
}

TEST_F(EndingsTest, AnOrphanWithoutAnythingIsKnownByTheMarkOfItsLeader) {
    add({"tests", "a=0.9"});
    add({"daemon-without-environment"});
    add({"tests", "a=0.9"});
    run(3);
    EXPECT_THAT(left_by(0), IsEmpty());
    EXPECT_THAT(left_by(1), ElementsAre("sleep 600 "));
    EXPECT_THAT(left_by(2), IsEmpty());
    expect_gone(1);
}

TEST_F(EndingsTest, WhatForksOnIsCaught) {
    add({"bomb", "7"});
    add({"hop", "0.002"});
    add({"hop", "0"});
    run(1);
    EXPECT_EQ(finished[0].leaked.size(), 127u);
    EXPECT_FALSE(finished[1].leaked.empty());
    for (const size_t i : {0, 1, 2}) {
        EXPECT_EQ(how(i), "exit code 0");
        expect_gone(i);
        EXPECT_LT(finished[i].duration.count(), 25) << "it gives up by itself after 30 s";
    }
}

TEST_F(EndingsTest, AChildOfOursThatIsOfNoJobIsLeftAlone) {
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
    EXPECT_EQ(::waitpid(bystander, &status, 0), bystander) << "nobody else waited for it";
}

TEST_F(EndingsTest, MemoryThatProcessesShareIsThereOnce) {
    add({"share", "100"}).memory_bytes = 300u << 20;
    run();
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_GT(finished[0].usage.peak_rss_bytes, 600u << 20) << "it was looked at";
}

TEST_F(EndingsTest, MemoryIsThatOfAllProcesses) {
    add({"hog", "400"}).memory_bytes = 300u << 20;
    add({"hog", "100"}, Milliseconds(5000)).memory_bytes = 300u << 20;
    run();
    const ProcessEnd& end = finished[0].end;
    ASSERT_EQ(end.kind, ProcessEnd::Kind::out_of_memory) << how(0);
    EXPECT_EQ(end.limit_bytes, 300u << 20);
    EXPECT_GT(end.peak_rss_bytes, 300u << 20);
    EXPECT_EQ(finished[0].usage.peak_rss_bytes, end.peak_rss_bytes);
    EXPECT_LT(finished[0].usage.max_rss_bytes, 300u << 20) << "no process alone was";
    EXPECT_THAT(left_by(0), IsEmpty()) << "all of it dies of what ends it";
    EXPECT_THAT(how(1), StartsWith("timed out"));
    EXPECT_GT(finished[1].usage.peak_rss_bytes, 100u << 20);
}

TEST_F(EndingsTest, WhatGoesToTheDiskIsCounted) {
    add({"write", "3000000"});
    run();
    EXPECT_GE(finished[0].usage.written_bytes, 3'000'000u);
    EXPECT_LT(finished[0].usage.written_bytes, 4'000'000u);
    EXPECT_GE(finished[0].usage.peak_rss_bytes, finished[0].usage.max_rss_bytes);
}

// The first job's exit and, after it, its output are both waiting when the loop looks at last. Its
// handlers are gone before the second is had, and the next job has their places.
TEST_F(EndingsTest, AnEventOfTheJobBeforeIsNotTheEndOfTheNext) {
    add({"last-word"});
    add({"tests", "a=8"}, Milliseconds(500));
    run(1, [&](const RunEvent& event) {
        const auto* started = std::get_if<JobStarted>(&event);
        if (started && started->job == 0) std::this_thread::sleep_for(Milliseconds(1000));
    });
    EXPECT_EQ(how(0), "exit code 0");
    EXPECT_THAT(how(1), StartsWith("timed out"));
}

TEST_F(EndingsTest, AFloodDelaysNobody) {
    add({"flood-forever"}, Milliseconds(8000)).log_bytes = 1 << 20;
    add({"hang"}, Milliseconds(500));
    add({"tests", "the-hang"}).test_timeout = Milliseconds(1000);
    std::vector<size_t> order;
    run(3, [&](const RunEvent& event) {
        if (const auto* done = std::get_if<JobFinished>(&event)) order.push_back(done->job);
    });
    EXPECT_THAT(order, ElementsAre(testing::_, testing::_, 0u)) << "the flood is the last to end";
    for (const size_t i : {0, 1, 2}) timed_out(i);
    EXPECT_GT(finished[0].dropped_log_bytes, 1u << 20);
}

// A process in a frozen group is in an uninterruptible sleep: not even SIGKILL ends it.
TEST_F(EndingsTest, AChildInAnUninterruptibleSleepIsReportedAndNotWaitedFor) {
    const std::filesystem::path group = "/sys/fs/cgroup/freezer/" + run_id;
    std::error_code error;
    if (!std::filesystem::create_directory(group, error))
        GTEST_SKIP() << "no freezer to make one with: " << error.message();
    settings.kill_grace = Milliseconds(500);
    add({"hang"}, Milliseconds(5000));
    add({"exit", "0"});
    int pid = 0;
    run(1, [&](const RunEvent& event) {
        const auto* started = std::get_if<JobStarted>(&event);
        if (started && started->job == 0) pid = started->pid;
        if (!std::holds_alternative<Tick>(event) || pid == 0 || log(0) != "hanging\n") return;
        std::ofstream(group / "cgroup.procs") << std::exchange(pid, 0) << std::flush;
        std::ofstream(group / "freezer.state") << "FROZEN" << std::flush;
    });
    EXPECT_THAT(how(0), StartsWith("timed out"));
    EXPECT_EQ(log(0), "hanging\n");
    ASSERT_EQ(finished[0].leaked.size(), 1u);
    EXPECT_FALSE(finished[0].leaked[0].killed);
    EXPECT_EQ(finished[0].leaked[0].state, "uninterruptible sleep (D)");
    EXPECT_EQ(how(1), "exit code 0") << "the others run";
    EXPECT_THAT(left_by(1), IsEmpty()) << "it is not told of twice";

    std::ofstream(group / "freezer.state") << "THAWED" << std::flush;
    ::waitpid(finished[0].leaked[0].pid, nullptr, 0);
    for (int i = 0; i < 100 && !std::filesystem::remove(group, error); ++i)
        std::this_thread::sleep_for(Milliseconds(10));
}

TEST_F(EndingsTest, AFullDiskEndsTheRunInOrder) {
    const auto disk = dir / "disk";
    std::filesystem::create_directory(disk);
    if (::mount("none", disk.c_str(), "tmpfs", 0, "size=64k") != 0)
        GTEST_SKIP() << "cannot mount a small file system: " << std::strerror(errno);
    add({"flood-then-hang", "100000"}).log = disk / "log";
    add({"hang"});
    add({"exit", "0"});
    run(2);
    EXPECT_THAT(how(0), AllOf(HasSubstr("cannot write the log"), HasSubstr("No space left")));
    ASSERT_TRUE(finished[0].trouble);
    EXPECT_THAT(how(1), HasSubstr("No space left"));
    EXPECT_THAT(ended.not_started, ElementsAre(2u));
    EXPECT_LT(finished[0].duration.count(), 300) << "it would hang for 600 s";
    EXPECT_EQ(std::filesystem::file_size(disk / "log"), 64u << 10) << "what there was room for";
    ::umount(disk.c_str());
}

}  // namespace
}  // namespace compat::exec
