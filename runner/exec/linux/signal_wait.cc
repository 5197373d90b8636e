// signal_wait.h on Linux: sigwaitinfo.
#include "runner/exec/signal_wait.h"

namespace compat::exec {

// Linux keeps every blocked signal.
void hold_signals(const sigset_t& set, sigset_t* before) { ::sigprocmask(SIG_BLOCK, &set, before); }

ArrivedSignal wait_for_signal(const sigset_t& set) {
    siginfo_t info{};
    const int number = ::sigwaitinfo(&set, &info);
    if (number <= 0) return {};
    return {number, info.si_code > 0, info.si_code > 0 ? 0 : info.si_pid};
}

}  // namespace compat::exec
