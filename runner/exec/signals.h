// What the runner is told by signals while children run. Not for the children's signals
// (launcher.h).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <string>

namespace compat::exec {

// Call first of all: a reader that goes away (`runner list … | head`), a file that may grow no more
// (ulimit -f) and a question of how it goes (SIGUSR1) while no children run must not cut a run
// short.
void ignore_stray_signals();
// In a child before it is executed: programs begin with these as they are by default.
void restore_ignored_signals();
// From here on SIGINT, SIGTERM, SIGHUP and SIGUSR1 wait until a loop handles them: whoever has
// begun a run stores that it was interrupted, and why.
void block_termination_signals();

struct SignalHandlers {
    std::function<void(std::string reason)> stop;  // SIGINT, SIGTERM, SIGHUP
    std::function<void()> status;                  // SIGUSR1
    std::function<void()> resized;                 // SIGWINCH
    // SIGTSTP: `pause` is called, the runner stops, `resume` is called when it goes on.
    std::function<void()> pause, resume;
};

// While it lives the signals are handled on the event loop. SIGHUP and SIGTSTP stay ignored where
// they were: under nohup a lost terminal is no reason to stop, and a shell that cannot continue us
// must not be able to stop us.
class Signals {
  public:
    Signals(boost::asio::io_context& io, SignalHandlers handlers);

  private:
    void await();
    void take(int signal);
    void stop_ourselves();

    SignalHandlers handlers_;
    boost::asio::signal_set set_;
};

}  // namespace compat::exec
