// Hashes content on a thread of its own, before a part of it is sent: the server's thread serves
// all connections, and a large file takes seconds. Not for content that is sent whole, which is
// hashed meanwhile (blobs.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "runner/hub/store/blobs.h"

namespace compat::hub {

class Checker {
  public:
    // `blobs` outlives it, and knows the results.
    explicit Checker(Blobs& blobs) : blobs_(blobs) {}
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;
    ~Checker() { stop(); }

    // Calls `done` from its own thread, unless it is stopped before. Throws where no thread can be
    // started.
    void check(std::string sha256, std::uint64_t size, std::function<void()> done);
    void stop();

  private:
    struct Task {
        std::string sha256;
        std::uint64_t size;
        std::function<void()> done;
    };
    void work();

    Blobs& blobs_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> tasks_;
    std::atomic<bool> is_stopped_{false};
    std::thread thread_;  // started with the first task
};

}  // namespace compat::hub
