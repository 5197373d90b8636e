#include "runner/hub/store/checker.h"

#include <exception>
#include <utility>

namespace compat::hub {

void Checker::check(std::string sha256, std::uint64_t size, std::function<void()> done) {
    const std::lock_guard lock(mutex_);
    if (is_stopped_) return;  // so `stop` may join without the mutex
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    tasks_.push_back({std::move(sha256), size, std::move(done)});
    changed_.notify_one();
}

void Checker::work() {
    while (true) {
        Task task;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return is_stopped_ || !tasks_.empty(); });
            if (is_stopped_) return;
            task = std::move(tasks_.front());
            tasks_.pop_front();
        }
        try {
            blobs_.check(task.sha256, task.size, is_stopped_);
        } catch (const std::exception&) {
            // It stays unknown, and no part of it is sent.
        }
        if (!is_stopped_) task.done();
    }
}

void Checker::stop() {
    {
        const std::lock_guard lock(mutex_);
        is_stopped_ = true;
        changed_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
}

}  // namespace compat::hub
