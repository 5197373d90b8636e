// A mutex for state shared by threads without the GIL. After a fork by any thread it is free in the
// child. With a plain mutex, a child would wait for ever if another thread of the parent held it.
// Do not hold it while running foreign code: the forking thread takes all of these mutexes.
#pragma once

#include <pthread.h>

#include <mutex>
#include <vector>

namespace compat::shim {

class ForkSafeMutex {
  public:
    // For objects that are never destroyed.
    ForkSafeMutex() {
        const std::lock_guard lock(registry().itself);
        registry().all.push_back(&mutex_);
    }
    ForkSafeMutex(const ForkSafeMutex&) = delete;
    ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

    void lock() { mutex_.lock(); }
    void unlock() { mutex_.unlock(); }

  private:
    struct Registry {
        std::mutex itself;
        std::vector<std::mutex*> all;
    };

    static Registry& registry() {
        static Registry* kept = [] {
            pthread_atfork(&before_fork, &after_fork, &after_fork);
            return new Registry();
        }();
        return *kept;
    }
    static void before_fork() {
        registry().itself.lock();
        for (std::mutex* mutex : registry().all) mutex->lock();
    }
    static void after_fork() {
        for (std::mutex* mutex : registry().all) mutex->unlock();
        registry().itself.unlock();
    }

    std::mutex mutex_;
};

}  // namespace compat::shim
