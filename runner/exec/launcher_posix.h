// Starts real children, each in a session of its own, with Boost.Process. Not here: their output
// and exit (child_process.h). Boost's group, on_exit and exit_code are not used: a group kills in
// its destructor, and none of them gives the signal or the resource usage.
#pragma once

#include <boost/asio/io_context.hpp>

#include "runner/exec/fd.h"
#include "runner/exec/launcher.h"
#include "runner/exec/processes.h"
#include "runner/exec/sandbox.h"

namespace compat::exec {

class ChildProcess;

// Runs the job's argv in a session of its own and returns the pid; 0: the system has no process or
// memory to spare now. The child inherits the descriptor `inherited` as number kInheritedFd; -1:
// none. In a sandbox, the pid is that of the program that makes it; `server` is as for in_sandbox.
inline constexpr int kInheritedFd = 3;
enum class Spawning { child, server };
[[nodiscard]] Expected<int> spawn(const Job& job, int output, int inherited = -1,
                                  Spawning spawning = Spawning::child);

class PosixLauncher final : public Launcher {
  public:
    explicit PosixLauncher(boost::asio::io_context& io) : io_(io) {}
    [[nodiscard]] Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(ChildResult)> on_end) override;
    // Leads a session. A child of ours, or of its sandbox's init.
    struct Spawned {
        int pid = 0;  // 0: not possible now
        std::unique_ptr<SandboxInit> init{};
    };
    // As `start`, with another way to create the process. `spawn` gets the descriptor for the
    // output.
    using Spawn = std::function<Expected<Spawned>(int output)>;
    [[nodiscard]] Expected<std::unique_ptr<Child>> start_with(
        const Spawn& spawn, const Job& job, bool forked, std::function<void(ChildResult)> on_end);
    // Takes charge of a child of ours that leads a session and has begun; `output` is the read end
    // of its pipe. On an error it is killed.
    [[nodiscard]] Expected<std::unique_ptr<Child>> adopt(int pid, Fd output, const Job& job,
                                                         bool forked,
                                                         std::function<void(ChildResult)> on_end);
    void scan() { processes_.scan(); }
    [[nodiscard]] Processes& processes() { return processes_; }

  private:
    [[nodiscard]] Expected<Spawned> spawn_job(const Job& job, int output);
    [[nodiscard]] Expected<std::unique_ptr<Child>> watch(std::shared_ptr<ChildProcess> process,
                                                         Spawned spawned, Fd output,
                                                         const Job& job);

    boost::asio::io_context& io_;
    Processes processes_;
};

}  // namespace compat::exec
