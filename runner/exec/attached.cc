#include "runner/exec/attached.h"

#include <fmt/format.h>
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

#include "runner/base/host.h"
#include "runner/exec/process_table.h"
#include "runner/exec/signals.h"

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

// Whether passing this signal on would be wrong. The terminal's keys signal its whole foreground
// group: a program in our group has had it. (A hang-up goes to the leader of the session alone,
// which may be us.) What the program or a descendant of it sends reaches us where it signals its
// own group. Whether anybody else meant us or our group cannot be told: the program rather gets a
// signal twice than never.
bool keep_back(const siginfo_t& info, pid_t program) {
    const int signal = info.si_signo;
    if (info.si_code > 0)
        return (signal == SIGINT || signal == SIGQUIT) && ::getpgid(program) == ::getpgrp();
    return process_table().descends_from(info.si_pid, program);
}

ProcessEnd end_of(int status) {
    if (WIFSIGNALED(status)) return ProcessEnd::signaled(WTERMSIG(status));
    return ProcessEnd::exited(WEXITSTATUS(status));
}

ProcessEnd wait_for(pid_t pid, const sigset_t& set) {
    while (true) {
        siginfo_t info{};
        const int signal = ::sigwaitinfo(&set, &info);
        if (signal > 0 && signal != SIGCHLD) {
            if (!keep_back(info, pid)) ::kill(pid, signal);
            continue;
        }
        int status = 0;
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid) return end_of(status);
        if (ended < 0 && errno != EINTR)
            return ProcessEnd::spawn_failed(
                fmt::format("how it ended was lost: {}", std::strerror(errno)));
    }
}

}  // namespace

Expected<ProcessEnd> run_attached(const Attached& attached) {
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
                end_with_parent(SIGTERM);
                restore_ignored_signals();
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
