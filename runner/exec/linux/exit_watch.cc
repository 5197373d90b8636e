// exit_watch.h on Linux: a pidfd on the event loop.
#include "runner/exec/exit_watch.h"

#include <fmt/format.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <cstring>

#include "runner/exec/fd.h"
#include "runner/exec/linux/pidfd.h"

namespace compat::exec {

namespace {

class PidfdWatch final : public ExitWatch {
  public:
    PidfdWatch(boost::asio::io_context& io, Fd pidfd) : pidfd_(io, pidfd.release()) {}
    void start(std::function<void()> ended) override { when_readable(pidfd_, std::move(ended)); }

  private:
    boost::asio::posix::stream_descriptor pidfd_;
};

}  // namespace

Expected<std::unique_ptr<ExitWatch>> watch_exit(boost::asio::io_context& io, int pid) {
    Fd pidfd = open_pidfd(pid);
    if (!pidfd.valid())
        return fail(ErrorKind::spawn, fmt::format("pidfd_open: {}", std::strerror(errno)));
    return std::make_unique<PidfdWatch>(io, std::move(pidfd));
}

}  // namespace compat::exec
