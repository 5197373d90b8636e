#include "runner/base/worker.h"

#include <utility>

namespace compat {

Worker::Worker(std::size_t most_waiting)
    : most_waiting_(most_waiting), thread_([this] { work(); }) {}

Worker::~Worker() {
    {
        const std::lock_guard lock(mutex_);
        waiting_.clear();
    }
    end();
}

void Worker::add(Task task) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < most_waiting_ || thrown_; });
    if (thrown_) return;
    waiting_.push_back(std::move(task));
    changed_.notify_all();
}

void Worker::finish() {
    end();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Worker::end() {
    if (!thread_.joinable()) return;
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Worker::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [this] { return !waiting_.empty() || ended_; });
        if (waiting_.empty()) return;
        Task task = std::move(waiting_.front());
        waiting_.pop_front();
        changed_.notify_all();
        lock.unlock();
        std::exception_ptr thrown;
        try {
            task();
        } catch (...) {
            thrown = std::current_exception();
        }
        task = nullptr;  // what it holds
        lock.lock();
        if (!thrown) continue;
        thrown_ = thrown;
        waiting_.clear();
        changed_.notify_all();
        return;
    }
}

}  // namespace compat
