#include "runner/exec/proc_stat.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace compat::exec {
namespace {

TEST(ProcStat, IsReadBehindAnyNameAndGivesTheDescent) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::prctl(PR_SET_NAME, "a) Z 1 (b");
        [[maybe_unused]] const auto written = ::write(ready[1], "", 1);
        ::pause();
        ::_exit(0);
    }
    char byte;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const auto running = proc_stat(pid);
    ASSERT_TRUE(running);
    EXPECT_EQ(running->name, "a) Z 1 (b");
    EXPECT_NE(running->state, 'Z');
    EXPECT_EQ(running->parent, ::getpid());
    EXPECT_EQ(running->session, ::getsid(0));
    EXPECT_TRUE(descends_from(pid, pid));
    EXPECT_TRUE(descends_from(pid, ::getpid()));
    EXPECT_TRUE(descends_from(pid, ::getppid())) << "through the parents";
    EXPECT_FALSE(descends_from(::getpid(), pid));
    EXPECT_FALSE(descends_from(0, ::getpid())) << "a sender outside of our namespace";

    ::kill(pid, SIGKILL);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    EXPECT_EQ(proc_stat(pid)->state, 'Z');
    ::waitpid(pid, nullptr, 0);
    EXPECT_FALSE(proc_stat(pid));
    EXPECT_FALSE(descends_from(pid, ::getpid()));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(Mark, IsInheritedAndKeptByWhatIsExecuted) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const pid_t leader = ::fork();
    if (leader == 0) {
        mark_leader(::getpid());
        if (::fork() > 0) ::_exit(0);
        ::setsid();
        const pid_t self = ::getpid();
        [[maybe_unused]] const auto n = ::write(ends[1], &self, sizeof self);
        const char* const argv[] = {"sleep", "600", nullptr};
        const char* const env[] = {nullptr};
        ::execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(env));
        ::_exit(1);
    }
    ::close(ends[1]);
    pid_t pid = 0;
    EXPECT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    char none;
    EXPECT_EQ(::read(ends[0], &none, 1), 0) << "it has been executed";
    ::close(ends[0]);
    EXPECT_EQ(marked_leader(pid), leader);
    EXPECT_NE(marked_leader(::getpid()), leader);
    ::kill(pid, SIGKILL);
    ::waitpid(leader, nullptr, 0);
}

}  // namespace
}  // namespace compat::exec
