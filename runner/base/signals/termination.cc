#include "runner/base/signals/termination.h"

#include <algorithm>
#include <csignal>

#include "runner/base/exit_code.h"

namespace compat {

bool is_termination_pending() {
    sigset_t pending;
    ::sigpending(&pending);
    // Linux keeps a blocked signal pending although it is ignored, as SIGHUP under nohup.
    return std::any_of(kTerminationSignals.begin(), kTerminationSignals.end(), [&](int signal) {
        struct sigaction action{};
        ::sigaction(signal, nullptr, &action);
        return sigismember(&pending, signal) == 1 && action.sa_handler != SIG_IGN;
    });
}

}  // namespace compat
