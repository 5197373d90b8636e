// What the runner does when it is sent a signal itself. Each loop runs in a process of its own, as
// the signals are that process's.
#include "runner/exec/signals.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "runner/exec/processes.h"
#include "tests/exec/children_fixture.h"

namespace compat::exec {
namespace {

using testing::ElementsAre;

class SignalsTest : public test_support::ChildrenTest {
  protected:
    // Runs the jobs in a process of its own; `said` has what it heard, a word a line.
    // Its parent is of its session and not of its group: as under a shell that can continue it.
    void start_runner(const std::function<void()>& first = [] { ::setpgid(0, 0); }) {
        runner = ::fork();
        if (runner != 0) return;
        first();
        std::ofstream said(dir / "said");
        run(2, [&](const RunEvent& event) {
            if (std::holds_alternative<JobStarted>(event)) said << "started" << std::endl;
            if (std::holds_alternative<Paused>(event)) said << "paused" << std::endl;
            if (std::holds_alternative<Resumed>(event)) said << "resumed" << std::endl;
            if (std::holds_alternative<StatusAsked>(event)) said << "asked" << std::endl;
            if (const auto* done = std::get_if<JobFinished>(&event))
                said << describe(done->end) << std::endl;
        });
        ::_exit(0);
    }
    // We and what threads we have, and one more.
    static void have_room_for_one(const std::filesystem::path& group) {
        using Folder = std::filesystem::directory_iterator;
        std::ofstream(group / "cgroup.procs") << ::getpid() << std::flush;
        const auto tasks = std::distance(Folder("/proc/self/task"), Folder());
        std::ofstream(group / "pids.max") << tasks + 1 << std::flush;
    }
    std::vector<std::string> said() {
        std::ifstream file(dir / "said");
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }
    bool wait_until(const std::function<bool()>& done) {
        for (int i = 0; i < 6000 && !done(); ++i) std::this_thread::sleep_for(Milliseconds(10));
        return done();
    }
    bool says(const std::string& word) {
        return wait_until([&] {
            const auto lines = said();
            return std::find(lines.begin(), lines.end(), word) != lines.end();
        });
    }
    int wait_for(int options = 0) {
        int status = 0;
        EXPECT_EQ(::waitpid(runner, &status, options), runner);
        return status;
    }
    std::vector<double> times(size_t index) {
        std::ifstream file(jobs[index].log);
        std::vector<double> found;
        for (double time; file >> time;) found.push_back(time);
        return found;
    }

    pid_t runner = 0;
};

TEST_F(SignalsTest, StoppedByItsTerminalItsChildrenStopTooAndNoTimeIsLost) {
    add({"count", "12"}, Milliseconds(10'000));  // of which it needs 1.2 s and its start
    start_runner();
    ASSERT_TRUE(wait_until([&] { return times(0).size() >= 3; }));
    ::kill(runner, SIGTSTP);
    ASSERT_TRUE(WIFSTOPPED(wait_for(WUNTRACED)));
    EXPECT_TRUE(says("paused"));
    const auto is_stopped = [&] {
        for (const int pid : process_table().pids()) {
            const auto info = process_table().find(pid);
            if (info && info->parent == runner) return info->state == 'T';
        }
        return false;
    };
    EXPECT_TRUE(wait_until(is_stopped)) << "the child is stopped, too";
    std::this_thread::sleep_for(Milliseconds(10'000));  // as long as it may take
    ::kill(runner, SIGCONT);
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(said(), ElementsAre("started", "paused", "resumed", "exit code 0"));
    EXPECT_EQ(times(0).size(), 12u);
}

TEST_F(SignalsTest, WhereNoShellCouldContinueItItGoesOn) {
    add({"until", dir / "go"});
    start_runner([] { ::setsid(); });
    ASSERT_TRUE(says("started"));
    ::kill(runner, SIGTSTP);
    EXPECT_TRUE(says("resumed"));
    std::ofstream(dir / "go").flush();
    EXPECT_EQ(wait_for(WUNTRACED), 0);
    EXPECT_THAT(said(), ElementsAre("started", "paused", "resumed", "exit code 0"));
}

TEST_F(SignalsTest, AskedForItsStatusItSaysSoAndGoesOn) {
    add({"until", dir / "go"});
    start_runner();
    ASSERT_TRUE(says("started"));
    ::kill(runner, SIGUSR1);
    EXPECT_TRUE(says("asked"));
    std::ofstream(dir / "go").flush();
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(said(), ElementsAre("started", "asked", "exit code 0"));
}

TEST_F(SignalsTest, WithoutAProcessToSpareJobsWaitForOne) {
    const std::filesystem::path group = "/sys/fs/cgroup/pids/" + run_id;
    std::error_code error;
    if (!std::filesystem::create_directory(group, error))
        GTEST_SKIP() << "no group to limit: " << error.message();
    for (int i = 0; i < 3; ++i) add({"count", "2"});
    start_runner([&] { have_room_for_one(group); });
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(said(), ElementsAre("started", "exit code 0", "started", "exit code 0", "started",
                                    "exit code 0"));
    std::filesystem::remove(group, error);
}

TEST_F(SignalsTest, AFileThatMayGrowNoMoreEndsTheRunInOrder) {
    add({"flood-then-hang", "100000"});
    start_runner([] {
        ignore_stray_signals();
        const rlimit small{64 << 10, 64 << 10};
        ::setrlimit(RLIMIT_FSIZE, &small);
    });
    EXPECT_EQ(wait_for(), 0);
    ASSERT_EQ(said().size(), 2u);
    EXPECT_THAT(said()[1], testing::HasSubstr("cannot write the log: File too large"));
}

TEST_F(SignalsTest, WhatSurvivesAKilledRunnerIsFoundAndEnded) {
    add({"leak-and-hang"});
    start_runner();
    ASSERT_TRUE(wait_until([&] { return read_file(jobs[0].log).value_or("") == "hanging\n"; }));
    // Their environments are gone before they are.
    std::vector<std::pair<int, std::uint64_t>> known;
    for (const int pid : process_table().pids()) {
        const auto info = process_table().find(pid);
        const auto job = process_table().environment_value(pid, kJobVariable);
        if (info && job.starts_with(run_id + "/")) known.emplace_back(pid, info->start);
    }
    ASSERT_EQ(known.size(), 2u);
    ::kill(runner, SIGKILL);
    wait_for();
    const auto all = [&] {
        return std::count_if(known.begin(), known.end(), [](const auto& process) {
            const auto info = process_table().find(process.first);
            return info && info->start == process.second && !info->ended;
        });
    };
    EXPECT_TRUE(wait_until([&] { return all() == 1; })) << "the child went with its runner";
    EXPECT_THAT(end_survivors(run_id + "1"), testing::IsEmpty()) << "another's";
    const auto survivors = end_survivors(run_id);
    ASSERT_EQ(survivors.size(), 1u);
    EXPECT_THAT(survivors[0].argv, ElementsAre("sleep", "600"));
    EXPECT_TRUE(survivors[0].killed);
    EXPECT_EQ(all(), 0);
    EXPECT_THAT(end_survivors(run_id), testing::IsEmpty());
}

}  // namespace
}  // namespace compat::exec
