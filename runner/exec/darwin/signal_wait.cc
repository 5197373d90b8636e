// signal_wait.h on macOS, which does not say who sent a signal.
#include "runner/exec/signal_wait.h"

#include <fcntl.h>
#include <unistd.h>

#include "runner/exec/fd.h"

namespace compat::exec {

namespace {

bool in_foreground() {
    const Fd terminal(::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY));
    return terminal.valid() && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

}  // namespace

// xnu drops a signal that is ignored (by default: SIGCHLD) when it is sent, blocked or not: it has
// to have a handler, which exec resets in the program.
void hold_signals(const sigset_t& set, sigset_t* before) {
    ::signal(SIGCHLD, [](int) {});
    ::sigprocmask(SIG_BLOCK, &set, before);
}

// macOS has neither sigwaitinfo(2) nor a sender in siginfo_t. In the foreground of a terminal its
// keys are the likely sender of the two signals that they send.
ArrivedSignal wait_for_signal(const sigset_t& set) {
    int number = 0;
    if (::sigwait(&set, &number) != 0) return {};
    return {number, (number == SIGINT || number == SIGQUIT) && in_foreground(), 0};
}

}  // namespace compat::exec
