// Waits for a blocked signal and says what is known of its sender. Each system implements it in a
// folder (linux/, darwin/). Not for the event loop (signals.h).
#pragma once

#include <csignal>

namespace compat::exec {

struct ArrivedSignal {
    int number = 0;          // 0: interrupted, wait again
    bool by_kernel = false;  // such as the terminal's keys, which signal the whole foreground group
    int sender = 0;          // 0: unknown
};

// Blocks the signals of `set` and makes them wait for us, even those that are ignored by default.
void hold_signals(const sigset_t& set, sigset_t* before);
[[nodiscard]] ArrivedSignal wait_for_signal(const sigset_t& set);

}  // namespace compat::exec
