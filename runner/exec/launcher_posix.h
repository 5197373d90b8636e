// Real children: Boost.Process starts them in a session of their own, a watch on the event
// loop says when they are gone (exit_watch.h), wait4 says how (child_process.h). Boost.Process's
// own group, on_exit and exit_code are not used: a group object kills in its destructor, and none
// of them gives the signal or the resource usage.
#pragma once

#include <boost/asio/io_context.hpp>

#include "runner/exec/launcher.h"
#include "runner/exec/processes.h"

namespace compat::exec {

// Executes the job's argv in a session of its own and returns its pid; 0: not now. Where `passed`
// is a descriptor, the child has it as number kPassed.
inline constexpr int kPassed = 3;
[[nodiscard]] Expected<int> spawn(const Job& job, int output, int passed = -1);

class PosixLauncher final : public Launcher {
  public:
    explicit PosixLauncher(boost::asio::io_context& io) : io_(io) {}
    [[nodiscard]] Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(Ended)> on_end) override;
    // `start` for what the zygote forks, and for the zygote: `make` is given the descriptor that
    // the job's output goes to, and returns the pid of a child of ours that leads a session of its
    // own; 0: not now.
    using Make = std::function<Expected<int>(int output)>;
    [[nodiscard]] Expected<std::unique_ptr<Child>> start_by(const Make& make, const Job& job,
                                                            bool forked,
                                                            std::function<void(Ended)> on_end);
    // Looks at all processes: what they have in memory, and whose they are.
    void look() { processes_.scan(); }
    [[nodiscard]] Processes& processes() { return processes_; }

  private:
    boost::asio::io_context& io_;
    Processes processes_;
};

}  // namespace compat::exec
