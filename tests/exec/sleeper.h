// A real process that sleeps, for tests of the process table and of ownership.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string_view>

#include "runner/exec/process_table.h"

namespace compat::exec::test_support {

enum class Parent { is_the_test, has_ended };

// Returns the pid of a process in a session of its own, with `variable` as its environment, once
// the process shows its command line and sleeps.
inline int start_sleeper(const char* variable, Parent parent) {
    int ends[2];
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);  // its end of file is the exec
    const pid_t child = ::fork();
    if (child == 0) {
        if (parent == Parent::has_ended && ::fork() > 0) ::_exit(0);
        ::setsid();
        const pid_t self = ::getpid();
        [[maybe_unused]] const auto n = ::write(ends[1], &self, sizeof self);
        const char* const argv[] = {"sleep", "600", nullptr};
        const char* const env[] = {variable, nullptr};
        ::execve("/bin/sleep", const_cast<char**>(argv), const_cast<char**>(env));
        ::_exit(1);
    }
    ::close(ends[1]);
    pid_t pid = 0;
    EXPECT_EQ(::read(ends[0], &pid, sizeof pid), static_cast<ssize_t>(sizeof pid));
    char none;
    EXPECT_EQ(::read(ends[0], &none, 1), 0);
    ::close(ends[0]);
    if (parent == Parent::has_ended) ::waitpid(child, nullptr, 0);
    // The kernel closes the pipe a moment before it shows the new arguments and environment.
    while (true) {
        const auto info = process_table().find(pid);
        if (!info || info->ended) break;
        if (info->state == 'S' && process_table().argv(pid, *info).front() == "sleep") break;
        ::usleep(1000);
    }
    return pid;
}

// Processes started while it lives inherit the mark of the run.
class Tagged {
  public:
    explicit Tagged(std::string_view run) {
        ::getrlimit(RLIMIT_LOCKS, &preexisting_);
        process_table().tag_leader(::getpid(), run);
    }
    ~Tagged() { ::setrlimit(RLIMIT_LOCKS, &preexisting_); }
    Tagged(const Tagged&) = delete;
    Tagged& operator=(const Tagged&) = delete;

  private:
    rlimit preexisting_{};
};

inline void end_sleeper(int pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
}

}  // namespace compat::exec::test_support
