#include "runner/run/database_wait.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "runner/base/exit_code.h"
#include "runner/base/process/termination.h"
#include "runner/display/output.h"

namespace compat::run {

namespace {

// Blocks kTerminationSignals, except ignored ones, for its lifetime.
class Signals {
  public:
    Signals() {
        sigemptyset(&set_);
        for (const int signal : kTerminationSignals)
            if (!is_ignored(signal)) sigaddset(&set_, signal);
        ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    }
    ~Signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    // Whether a signal is pending. Removes it, so that it does not end the process later.
    [[nodiscard]] bool take() const {
        sigset_t pending;
        ::sigpending(&pending);
        for (const int signal : kTerminationSignals)
            if (sigismember(&set_, signal) == 1 && sigismember(&pending, signal) == 1) {
                int taken = 0;
                ::sigwait(&set_, &taken);
                return true;
            }
        return false;
    }

  private:
    sigset_t set_{}, before_{};
};

}  // namespace

Expected<void> retry_while_busy(store::Store& store, const std::function<Expected<void>()>& write) {
    constexpr std::chrono::milliseconds kOnce{200};
    store.set_patience(kOnce);
    auto written = write();
    const auto is_busy = [&] { return !written && written.error().kind == ErrorKind::busy; };
    if (is_busy()) {
        display::print(stderr, "runner: waiting for another process to release the database\n");
        const Signals signals;
        while (is_busy()) {
            std::this_thread::sleep_for(kOnce);
            written = signals.take() ? fail(ErrorKind::interrupted,
                                            "interrupted while another process held the database")
                                     : write();
        }
    }
    store.set_patience(store::Store::kPatience);
    return written;
}

}  // namespace compat::run
