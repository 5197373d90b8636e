// Notifies the event loop that a child has ended. Does not reap it: it stays a zombie, so its pid
// is not reused, until its owner calls wait4. Each system implements it in a folder (linux/,
// darwin/).
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>

#include "runner/base/error.h"

namespace compat::exec {

// Destroying it ends the watch.
class ExitWatch {
  public:
    virtual ~ExitWatch() = default;
    // `ended` is called once, from the loop.
    virtual void start(std::function<void()> ended) = 0;
};

// `pid` is a child of ours that has not been waited for.
[[nodiscard]] Expected<std::unique_ptr<ExitWatch>> watch_exit(boost::asio::io_context& io, int pid);

}  // namespace compat::exec
