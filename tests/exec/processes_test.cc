// Whose a process is, where nothing but its COMPAT_JOB and its age tell.
#include "runner/exec/processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace compat::exec {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int spawn(const char* variable, bool orphan) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        if (orphan && ::fork() > 0) ::_exit(0);
        ::setsid();
        const pid_t self = ::getpid();
        [[maybe_unused]] const auto n = ::write(ends[1], &self, sizeof self);
        const char* const argv[] = {"sleep", "600", nullptr};
        const char* const env[] = {"OTHER=1", variable, nullptr};
        ::execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(env));
        ::_exit(1);
    }
    ::close(ends[1]);
    pid_t pid = 0;
    EXPECT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    char none;
    EXPECT_EQ(::read(ends[0], &none, 1), 0) << "it has been executed";
    ::close(ends[0]);
    if (orphan) ::waitpid(child, nullptr, 0);
    return pid;
}

void end(int pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

TEST(Processes, AnOrphanIsOfTheJobItNamesElseOfTheOnlyOneThatIsNotExpected) {
    Processes processes;
    const int leader = spawn("COMPAT_JOB=r/1", false);
    processes.add(leader, "r/1");
    EXPECT_FALSE(processes.has_orphans(leader));

    const int next = spawn("COMPAT_JOB=r/2", true);
    processes.expect("r/2");
    EXPECT_TRUE(processes.has_orphans(leader));
    processes.scan();
    EXPECT_THAT(processes.left_by(leader), IsEmpty()) << "it is about to be a job";
    processes.add(next, "r/2");
    EXPECT_FALSE(processes.has_orphans(leader));

    const int own = spawn("COMPAT_JOB=r/1", true);
    const int foreign = spawn("COMPAT_JOB=another run's/1", true);
    const auto left_by = [&](int job) {
        std::vector<int> pids;
        for (const auto& left : processes.left_by(job)) pids.push_back(left.pid);
        return pids;
    };
    processes.scan();
    EXPECT_THAT(left_by(leader), ElementsAre(own));
    EXPECT_THAT(left_by(next), IsEmpty()) << "the foreign one may be of either";
    EXPECT_GT(processes.rss_bytes(leader), processes.rss_bytes(next));

    end(own);
    end(next);
    processes.remove(next);
    processes.scan();
    EXPECT_THAT(left_by(leader), ElementsAre(foreign));
    EXPECT_TRUE(processes.has_orphans(leader));
    end(foreign);
    EXPECT_FALSE(processes.has_orphans(leader));
    end(leader);
}

TEST(Processes, ASignalGoesToTheProcessOfThatStartAlone) {
    const int pid = spawn("A=1", false);
    const auto stat = proc_stat(pid);
    ASSERT_TRUE(stat);
    signal_exactly(pid, stat->start + 1, SIGKILL);
    std::this_thread::sleep_for(Milliseconds(50));
    EXPECT_FALSE(proc_stat(pid)->ended);
    signal_exactly(pid, stat->start, SIGKILL);
    int status = 0;
    EXPECT_EQ(::waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFSIGNALED(status));
}

}  // namespace
}  // namespace compat::exec
