// One real child from its start to its end: its output into the log, its exit, and the end of all
// that it leaves behind. Not here: how it is started (launcher_posix.cc).
#pragma once

#include <sys/resource.h>

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

namespace compat::exec {

// Shared with the handlers that are still queued on the event loop: it lives until the last of them
// ran.
class ChildProcess : public std::enable_shared_from_this<ChildProcess> {
  public:
    ChildProcess(boost::asio::io_context& io, Processes& processes, const Job& job, bool forked,
                 std::function<void(Ended)> on_end);

    // `pid` leads a session of its own, `output` is the end of a pipe that it writes to, `exit`
    // watches it.
    void watch(int pid, Fd output, std::unique_ptr<ExitWatch> exit);

    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] ChildState state() const;
    [[nodiscard]] std::uint64_t memory_bytes() const { return processes_.memory_bytes(pid_); }
    [[nodiscard]] const std::optional<Error>& trouble() const { return log_.trouble(); }
    void signal_leader(int signal);
    void signal_group(int signal);
    void let_go();
    // Nobody wants to hear of it any more.
    void abandon();

  private:
    void read();
    size_t read_piece(size_t most);
    void drain();
    void gone();
    void sweep();
    bool end_what_is_left();
    void name(int pid, const ProcessInfo& info);
    void wait_for_status(Ended& ended);
    void tell(Ended ended);

    Processes& processes_;
    std::string job_id_;
    bool helper_ = false;
    bool forked_ = false;
    int pid_ = 0;
    std::uint64_t memory_kills_ = 0;  // before it began
    bool exited_ = false;
    LogWriter log_;
    boost::asio::posix::stream_descriptor output_;
    std::unique_ptr<ExitWatch> exit_;
    boost::asio::steady_timer again_;
    SteadyTime sweep_until_{};
    Milliseconds pause_{2};
    std::map<std::pair<int, std::uint64_t>, LeakedProcess> left_;  // by pid and start
    std::function<void(Ended)> on_end_;
    std::array<char, 1 << 16> buffer_{};
};

}  // namespace compat::exec
