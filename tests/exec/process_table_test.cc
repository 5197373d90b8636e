// The process table of the real system. Not here: ownership of processes (processes_test.cc).
#include "runner/exec/process_table.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tests/exec/sleeper.h"

namespace compat::exec {
namespace {

using test_support::Parent;
using test_support::start_sleeper;
using test_support::Tagged;

TEST(ProcessTable, ReadsAProcessOfAnyNameAndItsAncestors) {
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
    const auto running = process_table().find(pid);
    ASSERT_TRUE(running);
    EXPECT_EQ(running->name, "a) Z 1 (b");
    EXPECT_NE(running->state, 'Z');
    EXPECT_EQ(running->parent, ::getpid());
    EXPECT_EQ(running->session, ::getsid(0));
    EXPECT_TRUE(process_table().descends_from(pid, pid));
    EXPECT_TRUE(process_table().descends_from(pid, ::getpid()));
    EXPECT_TRUE(process_table().descends_from(pid, ::getppid())) << "through the parents";
    EXPECT_FALSE(process_table().descends_from(::getpid(), pid));
    EXPECT_FALSE(process_table().descends_from(0, ::getpid()))
        << "a sender outside the pid namespace";

    ::kill(pid, SIGKILL);
    siginfo_t info;
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT);
    EXPECT_EQ(process_table().find(pid)->state, 'Z');
    ::waitpid(pid, nullptr, 0);
    EXPECT_FALSE(process_table().find(pid));
    EXPECT_FALSE(process_table().descends_from(pid, ::getpid()));
    ::close(ready[0]);
    ::close(ready[1]);
}

TEST(ProcessTable, KeepsTheMarkAcrossForkAndExec) {
    const Tagged marked("a run");
    const int pid = start_sleeper(nullptr, Parent::has_ended);
    EXPECT_EQ(process_table().tag_of(pid).leader, ::getpid());
    EXPECT_EQ(process_table().tag_of(pid).run, run_hash("a run"));
    EXPECT_NE(process_table().tag_of(pid).run, run_hash("a rum"));
    ::kill(pid, SIGKILL);
}

}  // namespace
}  // namespace compat::exec
