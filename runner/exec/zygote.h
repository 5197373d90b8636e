// Warm start: children that are forked from one process, the zygote, which has imported what they
// all need. What it forks becomes our own child (we are a sub-reaper) and is watched as any other;
// nothing of a child's life goes through the zygote. Needs Linux: elsewhere there is none, and
// every job is spawned. Not here: what the zygote imports and how it forks (runner/harness), which
// jobs may come from it and what is believed of them (runner/plan).
//
// Over a socket of whole messages (SOCK_SEQPACKET) it is asked with the words of the job's command
// line that are not its own, an empty word and the job's variables as NAME=VALUE, NUL between them;
// the end of the pipe for the job's output comes along. It answers `ready THREADS` once, then
// `forked PID`, `refused WHY` or `later` (no process or memory to spare) to each request.
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

struct Zygote {
    // How it is started: its end of the socket is its descriptor kPassed. Jobs differ from it in
    // the end of their command lines, and in variables of their own. Its COMPAT_JOB is at least as
    // long as any job's: a forked process writes its own in that place.
    Job job;
    Milliseconds patience{300'000};  // for its imports
    Milliseconds answer{10'000};     // for a fork, which takes milliseconds; the loop waits for it
};

class ZygoteLauncher final : public Launcher {
  public:
    using Say = std::function<void(std::string)>;

    // Starts through `launcher` what is not forked. `say` is told, once, why nothing is any more.
    ZygoteLauncher(boost::asio::io_context& io, PosixLauncher& launcher, Say say);
    ~ZygoteLauncher() override;

    // Starts the zygote. `go_on` is called once, later: its imports are done, or there is none.
    void warm_up(Zygote zygote, std::function<void()> go_on);
    [[nodiscard]] Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(Ended)> on_end) override;

  private:
    void answered();
    void gone(const Ended& ended);
    void give_up(const std::string& why);
    void done_warming();
    [[nodiscard]] bool is_like_the_zygote(const Job& job) const;
    [[nodiscard]] Expected<int> fork(const Job& job, int output);
    void end_strays(const Job& job);

    boost::asio::io_context& io_;
    PosixLauncher& launcher_;
    Say say_;
    Zygote zygote_;
    bool ready_ = false;
    std::function<void()> go_on_;
    std::unique_ptr<Child> child_;
    boost::asio::posix::stream_descriptor socket_;
    boost::asio::steady_timer patience_;
};

}  // namespace compat::exec
