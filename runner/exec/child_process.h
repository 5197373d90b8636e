// One real child while it runs and when it exits: copies its output to the log, waits for its exit,
// kills the processes that it leaks. Not here: starting it (launcher_posix.cc).
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>

#include "runner/exec/exit_watch.h"
#include "runner/exec/fd.h"
#include "runner/exec/launcher.h"
#include "runner/exec/log_writer.h"
#include "runner/exec/processes.h"
#include "runner/exec/sandbox.h"

namespace compat::exec {

// Shared with queued handlers: it lives until the last of them has run.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
  public:
    ChildProcess(boost::asio::io_context& io, Processes& processes, const Job& job, bool forked,
                 std::function<void(ChildResult)> on_end);

    // `pid` is a session leader; `output` is the read end of its pipe; `exit` watches it; `init` is
    // that of its sandbox.
    void watch(int pid, Fd output, std::unique_ptr<ExitWatch> exit,
               std::unique_ptr<SandboxInit> init = nullptr);

    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] ChildState state() const;
    [[nodiscard]] std::uint64_t memory_bytes() const { return processes_.memory_bytes(pid_); }
    [[nodiscard]] const std::optional<Error>& log_error() const { return log_.error(); }
    void signal_leader(int signal);
    void signal_group(int signal);
    void give_up();
    // Kills the group and reports nothing.
    void abandon();

  private:
    void read();
    size_t read_piece(size_t most);
    void drain();
    void stop_reading();
    void on_exit();
    void sweep();
    bool kill_leaked();
    void note_leak(int pid, const ProcessInfo& info);
    void wait_for_status(ChildResult& ended);
    void wait_in_sandbox(ChildResult& ended);
    void forget();
    void report_exit(ChildResult ended);

    Processes& processes_;
    std::string job_id_;
    bool helper_ = false;
    bool forked_ = false;
    int pid_ = 0;
    std::uint64_t oom_kills_before_ = 0;  // before the start
    bool exited_ = false;
    LogWriter log_;
    boost::asio::posix::stream_descriptor output_;
    std::unique_ptr<ExitWatch> exit_;
    std::unique_ptr<SandboxInit> init_;  // null: the child is our own
    boost::asio::steady_timer read_timer_;
    boost::asio::steady_timer retry_timer_;
    SteadyTime sweep_deadline_{}, helpers_deadline_{};
    Milliseconds retry_delay_{2};
    std::map<std::pair<int, std::uint64_t>, SurvivingProcess> leaked_;  // key: pid, start
    std::function<void(ChildResult)> on_end_;
    std::array<char, 1 << 16> buffer_{};
};

}  // namespace compat::exec
