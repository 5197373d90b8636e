#include "runner/base/process/termination.h"

#include <algorithm>
#include <csignal>

#include "runner/base/exit_code.h"

namespace compat {

bool is_ignored(int signal) {
    struct sigaction action{};
    ::sigaction(signal, nullptr, &action);
    return action.sa_handler == SIG_IGN;
}

bool is_termination_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    // Linux keeps a blocked signal pending although it is ignored, as SIGHUP under nohup.
    return std::any_of(kTerminationSignals.begin(), kTerminationSignals.end(), [&](int signal) {
        return sigismember(&pending, signal) == 1 && !is_ignored(signal);
    });
}

}  // namespace compat
