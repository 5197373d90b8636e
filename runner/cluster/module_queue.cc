#include "runner/cluster/module_queue.h"

#include <thread>
#include <utility>

namespace compat::cluster {

namespace {
constexpr std::size_t kMostWaiting = 4;
}

Expected<void> ModuleQueue::put(store::StoredModule module) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return left_ || modules_.size() < kMostWaiting; });
    if (left_) return fail(ErrorKind::interrupted, "the modules are not stored");
    modules_.push_back(std::move(module));
    changed_.notify_all();
    return {};
}

void ModuleQueue::close(Expected<void> result) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    result_ = std::move(result);
    changed_.notify_all();
}

std::optional<store::StoredModule> ModuleQueue::take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !modules_.empty(); });
    if (modules_.empty()) return std::nullopt;
    auto module = std::move(modules_.front());
    modules_.pop_front();
    changed_.notify_all();
    return module;
}

void ModuleQueue::leave() {
    const std::lock_guard lock(mutex_);
    left_ = true;
    changed_.notify_all();
}

Expected<void> read_ahead(const store::ReadModules& read, const store::ModuleVisitor& see) {
    ModuleQueue queue;
    std::thread reader([&] {
        queue.close(read([&](store::StoredModule module) { return queue.put(std::move(module)); }));
    });
    Expected<void> seen;
    while (seen) {
        auto module = queue.take();
        if (!module) break;
        seen = see(std::move(*module));
    }
    queue.leave();
    reader.join();
    return seen ? queue.result() : seen;
}

}  // namespace compat::cluster
