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
#include "runner/exec/signal_wait.h"
#include "runner/exec/signals.h"

namespace compat::exec {

namespace bp = boost::process;

namespace {

// Signals that people and job schedulers send to programs.
constexpr std::array<int, 7> kForwarded{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                        SIGALRM, SIGUSR1, SIGUSR2};

sigset_t handled_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (const int signal : kForwarded) sigaddset(&set, signal);
    return set;
}

// Whether the program has received this signal already. The terminal's keys signal the whole
// foreground group, so a program in our group has. (SIGHUP goes to the session leader alone, which
// may be us.) A signal from the program or its descendant reached us because it was sent to the
// group. For any other sender we cannot know: the program gets the signal twice rather than never.
bool has_received(const ArrivedSignal& signal, pid_t program) {
    if (signal.by_kernel)
        return (signal.number == SIGINT || signal.number == SIGQUIT) &&
               ::getpgid(program) == ::getpgrp();
    return process_table().descends_from(signal.sender, program);
}

ProcessEnd end_of(int status) {
    if (WIFSIGNALED(status)) return ProcessEnd::signaled(WTERMSIG(status));
    return ProcessEnd::exited(WEXITSTATUS(status));
}

ProcessEnd wait_for(pid_t pid, const sigset_t& set) {
    while (true) {
        const ArrivedSignal signal = wait_for_signal(set);
        if (signal.number > 0 && signal.number != SIGCHLD) {
            if (!has_received(signal, pid)) ::kill(pid, signal.number);
            continue;
        }
        int status = 0;
        const pid_t ended = ::waitpid(pid, &status, WNOHANG);
        if (ended == pid) return end_of(status);
        if (ended < 0 && errno != EINTR)
            return ProcessEnd::spawn_failed(
                fmt::format("exit status unknown: {}", std::strerror(errno)));
    }
}

}  // namespace

Expected<ProcessEnd> run_attached(const AttachedProgram& attached) {
    bp::environment env;
    for (const auto& [name, value] : attached.env) env[name] = value;
    // Blocked before the program starts, so that no SIGCHLD is missed.
    const sigset_t set = handled_signals();
    sigset_t before;
    hold_signals(set, &before);
    std::error_code error;
    bp::child child(
        bp::exe = attached.program.string(), bp::args = attached.arguments, env,
        bp::extend::on_exec_setup =
            [&](auto&) {
                // If we are killed, the program gets SIGTERM.
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
