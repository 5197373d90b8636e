// Signals sent to the runner: stop, continue, status, and the death of the runner itself. Each loop
// runs in a process of its own, which receives the signals.
#include "runner/exec/signals.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>

#include "runner/base/exit_code.h"
#include "runner/base/host.h"
#include "runner/base/process/termination.h"
#include "runner/exec/processes.h"
#include "tests/exec/children_fixture.h"

namespace compat::exec {
namespace {

using test_support::kHour;
using testing::ElementsAre;

class SignalsTest : public test_support::ChildrenTest {
  protected:
    // Runs the jobs in a child process that writes its events to the file `events`, one a line. It
    // leads a process group in the session of its parent, as under a shell with job control.
    void start_runner(const std::function<void()>& setup = [] { ::setpgid(0, 0); }) {
        runner = ::fork();
        if (runner != 0) return;
        setup();
        std::ofstream events(dir / "events");
        run(2, [&](const RunEvent& event) {
            if (std::holds_alternative<JobStarted>(event)) events << "started" << std::endl;
            if (std::holds_alternative<Paused>(event)) {
                clock.skip(kHour);
                events << "paused" << std::endl;
            }
            if (std::holds_alternative<Resumed>(event)) events << "resumed" << std::endl;
            if (std::holds_alternative<StatusRequested>(event)) events << "status" << std::endl;
            if (const auto* done = std::get_if<JobFinished>(&event))
                events << describe(done->end) << std::endl;
        });
        ::_exit(0);
    }
    // Limits this process to one more task than it has.
    static void allow_one_more_task(const std::filesystem::path& group) {
        using Folder = std::filesystem::directory_iterator;
        std::ofstream(group / "cgroup.procs") << ::getpid() << std::flush;
        const auto tasks = std::distance(Folder("/proc/self/task"), Folder());
        std::ofstream(group / "pids.max") << tasks + 1 << std::flush;
    }
    std::vector<std::string> events() {
        std::ifstream file(dir / "events");
        std::vector<std::string> lines;
        for (std::string line; std::getline(file, line);) lines.push_back(line);
        return lines;
    }
    bool wait_for_event(const std::string& word) {
        return wait_until([&] {
            const auto lines = events();
            return std::find(lines.begin(), lines.end(), word) != lines.end();
        });
    }
    int wait_for(int options = 0) {
        int status = 0;
        EXPECT_EQ(::waitpid(runner, &status, options), runner);
        return status;
    }
    std::vector<double> times(size_t index) {
        std::ifstream file(jobs[index].log.path());
        std::vector<double> found;
        for (double time; file >> time;) found.push_back(time);
        return found;
    }

    pid_t runner = 0;
};

TEST_F(SignalsTest, StopsItsChildrenOnSigtstpAndCountsNoTimeAgainstThem) {
    add({"count", "12"}, kHour);
    start_runner();
    ASSERT_TRUE(wait_until([&] { return times(0).size() >= 3; }));
    ::kill(runner, SIGTSTP);
    ASSERT_TRUE(WIFSTOPPED(wait_for(WUNTRACED)));
    EXPECT_TRUE(wait_for_event("paused"));
    const auto is_stopped = [&] {
        for (const int pid : process_table().pids()) {
            const auto info = process_table().find(pid);
            if (info && info->parent == runner) return info->state == 'T';
        }
        return false;
    };
    EXPECT_TRUE(wait_until(is_stopped)) << "the child is stopped, too";
    ::kill(runner, SIGCONT);
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(events(), ElementsAre("started", "paused", "resumed", "exit code 0"));
    EXPECT_EQ(times(0).size(), 12u);
}

TEST_F(SignalsTest, KeepsRunningOnSigtstpWithoutAShellToContinueIt) {
    add({"until", dir / "go"});
    start_runner([] { ::setsid(); });
    ASSERT_TRUE(wait_for_event("started"));
    ::kill(runner, SIGTSTP);
    EXPECT_TRUE(wait_for_event("resumed"));
    std::ofstream(dir / "go").flush();
    EXPECT_EQ(wait_for(WUNTRACED), 0);
    EXPECT_THAT(events(), ElementsAre("started", "paused", "resumed", "exit code 0"));
}

TEST_F(SignalsTest, ReportsAStatusRequestAndKeepsRunning) {
    add({"until", dir / "go"});
    start_runner();
    ASSERT_TRUE(wait_for_event("started"));
    ::kill(runner, SIGUSR1);
    EXPECT_TRUE(wait_for_event("status"));
    std::ofstream(dir / "go").flush();
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(events(), ElementsAre("started", "status", "exit code 0"));
}

TEST_F(SignalsTest, StartsJobsOneByOneWhenTheProcessLimitIsReached) {
    const std::filesystem::path group = "/sys/fs/cgroup/pids/" + run_id;
    std::error_code error;
    if (!std::filesystem::create_directory(group, error))
        GTEST_SKIP() << "cannot create a pids cgroup: " << error.message();
    for (int i = 0; i < 3; ++i) add({"count", "2"});
    start_runner([&] { allow_one_more_task(group); });
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(events(), ElementsAre("started", "exit code 0", "started", "exit code 0", "started",
                                      "exit code 0"));
    std::filesystem::remove(group, error);
}

TEST_F(SignalsTest, EndsTheRunAtTheFileSizeLimit) {
    add({"flood-then-hang", "100000"});
    start_runner([] {
        ignore_stray_signals();
        const rlimit small{64 << 10, 64 << 10};
        ::setrlimit(RLIMIT_FSIZE, &small);
    });
    EXPECT_EQ(wait_for(), 0);
    ASSERT_EQ(events().size(), 2u);
    EXPECT_THAT(events()[1], testing::HasSubstr("cannot write the log: File too large"));
}

TEST_F(SignalsTest, EndsASurvivorOfAKilledRunner) {
    add({"leak-and-hang"});
    start_runner();
    ASSERT_TRUE(wait_until([&] { return log(0) == "hanging\n"; }));
    // By pid and start: a dying process has no environment any more.
    std::vector<std::pair<int, std::uint64_t>> known;
    const auto find_both = [&] {
        known.clear();
        for (const int pid : process_table().pids()) {
            const auto info = process_table().find(pid);
            const auto job = process_table().environment_value(pid, kJobVariable);
            if (info && job.starts_with(run_id + "/")) known.emplace_back(pid, info->start);
        }
        return known.size() == 2;
    };
    ASSERT_TRUE(wait_until(find_both));
    ::kill(runner, SIGKILL);
    wait_for();
    const auto alive = [&] {
        return std::count_if(known.begin(), known.end(), [](const auto& process) {
            const auto info = process_table().find(process.first);
            return info && info->start == process.second && !info->ended;
        });
    };
    EXPECT_TRUE(wait_until([&] { return alive() == 1; })) << "the child died with its runner";
    EXPECT_THAT(end_survivors(run_id + "1"), testing::IsEmpty()) << "of another run";
    const auto survivors = end_survivors(run_id);
    ASSERT_EQ(survivors.size(), 1u);
    EXPECT_THAT(survivors[0].argv, ElementsAre("sleep", "600"));
    EXPECT_TRUE(survivors[0].killed);
    EXPECT_EQ(alive(), 0);
    EXPECT_THAT(end_survivors(run_id), testing::IsEmpty());
}

class TerminationTest : public SignalsTest, public testing::WithParamInterface<int> {};

TEST_P(TerminationTest, EndsTheChildrenAndWhatTheyStarted) {
    add({"leak-and-hang"});
    start_runner();
    ASSERT_TRUE(wait_until([&] { return log(0) == "hanging\n"; }));
    ::kill(runner, GetParam());
    EXPECT_EQ(wait_for(), 0);
    EXPECT_THAT(end_survivors(run_id), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Signals, TerminationTest, testing::ValuesIn(kTerminationSignals),
                         [](const auto& parameter) { return signal_name(parameter.param); });

// As under nohup: the program goes on, so that nothing is to be given up.
TEST(PendingTermination, DoesNotCountAnIgnoredSignal) {
    const auto pending = [](int signal, sighandler_t handler) {
        ::signal(signal, handler);
        block_termination_signals();
        ::raise(signal);
        ::_exit(is_termination_pending() ? 1 : 0);
    };
    EXPECT_EXIT(pending(SIGHUP, SIG_IGN), testing::ExitedWithCode(0), "");
    EXPECT_EXIT(pending(SIGHUP, SIG_DFL), testing::ExitedWithCode(1), "");
}

}  // namespace
}  // namespace compat::exec
