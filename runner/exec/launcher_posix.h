// Real children: Boost.Process starts them in a session of their own, a pidfd on the event loop
// says when they are gone, wait4 says how (child_process.h). Boost.Process's own group, on_exit and
// exit_code are not used: a group object kills in its destructor, and none of them gives the signal
// or the resource usage.
#pragma once

#include <boost/asio/io_context.hpp>

#include "runner/exec/launcher.h"
#include "runner/exec/processes.h"

namespace compat::exec {

class PosixLauncher final : public Launcher {
  public:
    explicit PosixLauncher(boost::asio::io_context& io) : io_(io) {}
    [[nodiscard]] Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(Ended)> on_end) override;
    // Looks at all processes: what they have in memory, and whose they are.
    void look() { processes_.scan(); }

  private:
    boost::asio::io_context& io_;
    Processes processes_;
};

}  // namespace compat::exec
