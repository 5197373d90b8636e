// Signals sent to the runner. Not for signals to children (launcher.h).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <string>

namespace compat::exec {

// Call at start-up: a closed pipe (`runner list … | head`), a file size limit (ulimit -f) or a
// SIGUSR1 while no child runs must not end the runner.
void ignore_stray_signals();
// In a child before exec, which keeps ignored signals ignored.
void restore_ignored_signals();
// kTerminationSignals and SIGUSR1 stay pending until a loop handles them, so that a run stores
// that it was interrupted, and why.
void block_termination_signals();

struct SignalHandlers {
    std::function<void(std::string reason)> stop;  // kTerminationSignals
    std::function<void()> status;                  // SIGUSR1
    std::function<void()> resized;                 // SIGWINCH
    // SIGTSTP: `pause` runs, the runner stops, `resume` runs after SIGCONT.
    std::function<void()> pause, resume;
};

// Handles the signals on the event loop during its lifetime, SIGINT and SIGTERM always. Leaves the
// others ignored if they were: nohup ignores SIGHUP, and a shell without job control, which could
// not continue us, SIGTSTP.
class Signals {
  public:
    Signals(boost::asio::io_context& io, SignalHandlers handlers);

    // Before its end: blocks the signals. One for the end of the runner that the loop has not handled
    // yet stays pending, for the next loop or is_termination_pending(). Runs what is ready in `io`.
    void hand_over(boost::asio::io_context& io);

  private:
    void await();
    void handle(int signal);
    void suspend();

    SignalHandlers handlers_;
    boost::asio::signal_set set_;
    bool handed_over_ = false;
};

}  // namespace compat::exec
