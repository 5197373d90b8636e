// Waits for input on a descriptor. Not for reading.
#pragma once

#include <poll.h>

#include <algorithm>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <chrono>
#include <utility>

#include "runner/base/clock.h"
#include "runner/base/files/fd.h"

namespace compat::exec {

using compat::Fd;

// Blocks until `fd` is readable or has hung up. False: it did not within this time, or is no
// descriptor.
[[nodiscard]] inline bool wait_readable(int fd, Milliseconds timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    pollfd waiting{fd, POLLIN, 0};
    while (true) {
        const auto left =
            std::chrono::duration_cast<Milliseconds>(until - std::chrono::steady_clock::now());
        const int ready = ::poll(&waiting, 1, std::max(0, static_cast<int>(left.count())));
        if (ready >= 0 || errno != EINTR) return ready > 0;
    }
}

// Calls `then` once, from the loop, when `descriptor` is readable or has hung up; never after it
// was closed. The poll is needed because asio gives the state of a closed descriptor to the next
// one, and with it an event still queued for the old one.
template <class Then>
void when_readable(boost::asio::posix::stream_descriptor& descriptor, Then then) {
    descriptor.async_wait(
        boost::asio::posix::descriptor_base::wait_read,
        [&descriptor, then = std::move(then)](const boost::system::error_code& error) mutable {
            if (error) return;
            pollfd now{descriptor.native_handle(), POLLIN, 0};
            if (::poll(&now, 1, 0) == 0) return when_readable(descriptor, std::move(then));
            then();
        });
}

}  // namespace compat::exec
