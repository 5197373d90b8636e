#include "runner/exec/attached.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/process/args.hpp>
#include <boost/process/child.hpp>
#include <boost/process/env.hpp>
#include <boost/process/environment.hpp>
#include <boost/process/error.hpp>
#include <boost/process/exe.hpp>
#include <boost/process/extend.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace compat::exec {

namespace bp = boost::process;

namespace {

// What people and job schedulers send to end a program or to tell it something.
constexpr std::array<int, 7> kPassedOn{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2};

sigset_t awaited() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (const int signal : kPassedOn) sigaddset(&set, signal);
    return set;
}

// Whether the program has not had this signal itself: the terminal signals the whole group, and so
// does a process of the group that signals its own (timeout(1)).
bool for_us_alone(const siginfo_t& info) {
    return info.si_code <= 0 && ::getpgid(info.si_pid) != ::getpgrp();
}

Outcome outcome_of(int status) {
    if (WIFSIGNALED(status)) return Signaled{WTERMSIG(status)};
    return Exited{WEXITSTATUS(status)};
}

Outcome wait_for(pid_t pid, const sigset_t& set) {
    while (true) {
        siginfo_t info{};
        const int signal = ::sigwaitinfo(&set, &info);
        if (signal > 0 && signal != SIGCHLD) {
            if (for_us_alone(info)) ::kill(pid, signal);
            continue;
        }
        int status = 0;
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid) return outcome_of(status);
        if (ended < 0 && errno != EINTR)
            return SpawnFailed{fmt::format("how it ended was lost: {}", std::strerror(errno))};
    }
}

}  // namespace

Expected<Outcome> run_attached(const Attached& attached) {
    bp::environment env;
    for (const auto& [name, value] : attached.env) env[name] = value;
    // Blocked before the program is there, so that none of its signals is missed.
    const sigset_t set = awaited();
    sigset_t before;
    ::sigprocmask(SIG_BLOCK, &set, &before);
    std::error_code error;
    bp::child child(
        bp::exe = attached.program.string(), bp::args = attached.arguments, env,
        bp::extend::on_exec_setup =
            [&](auto&) {
                // Should we be killed, it is told to end.
                ::prctl(PR_SET_PDEATHSIG, SIGTERM);
                ::signal(SIGPIPE, SIG_DFL);
                ::sigprocmask(SIG_SETMASK, &before, nullptr);
            },
        error);
    const pid_t pid = child.id();
    if (error || !child.valid() || pid <= 0)
        return fail(ErrorKind::spawn, fmt::format("cannot start {}: {}", attached.program.string(),
                                                  error ? error.message() : std::strerror(EMFILE)));
    child.detach();
    return wait_for(pid, set);
}

}  // namespace compat::exec
