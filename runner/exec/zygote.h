// Warm start: jobs are forked from one process, the zygote, which has imported the modules that
// they share. A forked process becomes our child (we are a sub-reaper) and is watched like any
// other. Needs Linux; other systems spawn every job. Not here: the imports and the fork
// (runner/harness), and which jobs may be forked (runner/plan).
//
// A request is one message on a SOCK_SEQPACKET socket: the arguments of the job that the zygote
// does not have, an empty word, and the job's variables as NAME=VALUE, separated by NUL; the write
// end of the pipe for the output comes with it, and for a sandbox the job's socket (sandbox.h). The
// zygote sends `ready THREADS` or `lost WHAT` once, and answers each request with `forked PID`,
// `refused WHY` or `later` (no process or memory to spare).
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "runner/exec/fd.h"
#include "runner/exec/launcher_posix.h"

namespace compat::exec {

// A zygote that imports before the run that will use it begins. Ends with its last owner, if no run
// has taken it.
class EarlyZygote {
  public:
    // Errors: spawn, for example if there is no process, memory or descriptor to spare.
    [[nodiscard]] static Expected<std::shared_ptr<EarlyZygote>> start(Job job);
    ~EarlyZygote();
    EarlyZygote(const EarlyZygote&) = delete;
    EarlyZygote& operator=(const EarlyZygote&) = delete;
    [[nodiscard]] const Job& job() const { return job_; }

  private:
    friend class ZygoteLauncher;
    EarlyZygote() = default;
    Job job_;
    Fd socket_;  // our end
    Fd output_;  // the read end of its pipe
    int pid_ = 0;
};

struct Zygote {
    // Its end of the socket is descriptor kInheritedFd. Jobs share its command line up to a point
    // and differ in variables of their own. Its COMPAT_JOB is at least as long as that of any job:
    // a forked process overwrites it in place.
    Job job;
    std::shared_ptr<EarlyZygote> early{};  // which runs this job; empty: start it
    Milliseconds import_timeout{300'000};
    Milliseconds answer_timeout{10'000};  // a fork takes milliseconds; the event loop waits
};

class ZygoteLauncher final : public Launcher {
  public:
    using Notify = std::function<void(std::string)>;

    // Spawns other jobs through `launcher`. Calls `notify` once, with the reason, if warm start
    // ends.
    ZygoteLauncher(boost::asio::io_context& io, PosixLauncher& launcher, Notify notify);
    ~ZygoteLauncher() override;

    // Starts the zygote. Calls `on_ready` once, later: the imports are done or have failed.
    void warm_up(Zygote zygote, std::function<void()> on_ready);
    [[nodiscard]] Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(ChildResult)> on_end) override;

  private:
    void on_message();
    void on_exit(const ChildResult& ended);
    void give_up(const std::string& why);
    void finish_warm_up();
    [[nodiscard]] bool shares_setup(const Job& job) const;
    [[nodiscard]] Expected<PosixLauncher::Spawned> fork(const Job& job, int output);
    [[nodiscard]] Expected<PosixLauncher::Spawned> fork_failed(const Job& job,
                                                               const std::string& why);
    void kill_strays(const Job& job);

    boost::asio::io_context& io_;
    PosixLauncher& launcher_;
    Notify notify_;
    Zygote zygote_;
    bool ready_ = false;
    bool gave_up_ = false;
    std::function<void()> on_ready_;
    std::unique_ptr<Child> child_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer import_timer_;
};

}  // namespace compat::exec
