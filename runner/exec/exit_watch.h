// Tells on the event loop that a child has ended, without waiting for it: it stays a zombie, and
// its number its own, until its owner calls wait4. One folder a system implements it (linux/).
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

// `pid` is a child of ours that nobody has waited for.
[[nodiscard]] Expected<std::unique_ptr<ExitWatch>> watch_exit(boost::asio::io_context& io, int pid);

}  // namespace compat::exec
