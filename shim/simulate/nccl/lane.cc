#include "simulate/nccl/lane.h"

#include <ATen/core/grad_mode.h>

#include <map>
#include <thread>
#include <utility>

namespace compat::shim::simulate {
namespace {

struct HandedOver {
    std::mutex mutex;
    std::map<const void*, std::shared_ptr<void>> owners;  // by key
};
HandedOver& handed_over() {
    static auto* all = new HandedOver();  // our threads outlive statics
    return *all;
}

}  // namespace

void hand_over(const void* key, std::shared_ptr<void> owner) {
    const std::lock_guard lock(handed_over().mutex);
    handed_over().owners.try_emplace(key, std::move(owner));
    owner.reset();  // while the kept owner keeps the object alive
}

void drop_handed_over() noexcept {
    std::map<const void*, std::shared_ptr<void>> owners;
    {
        const std::lock_guard lock(handed_over().mutex);
        owners.swap(handed_over().owners);
    }
}

bool Holders::join() noexcept {
    int count = count_;
    while (count > 0)
        if (count_.compare_exchange_weak(count, count + 1)) return true;
    return false;
}

void Holders::leave() noexcept {
    if (--count_ == 0) count_.notify_all();
}

void Holders::wait_until_none() const noexcept {
    for (int count = count_; count > 0; count = count_) count_.wait(count);
}

// A job may wait for a peer that never comes, and must not keep the process from ending. So the
// thread is not joined, and owns everything that it uses.
void Lane::post(std::function<void()> job, std::function<void()> after) {
    const std::lock_guard lock(queue_->mutex);
    if (!std::exchange(queue_->begun, true)) std::thread([queue = queue_] { run(queue); }).detach();
    queue_->jobs.push_back({std::move(job), std::move(after)});
    queue_->changed.notify_one();
}

Lane::~Lane() {
    const std::lock_guard lock(queue_->mutex);
    queue_->closed = true;
    queue_->changed.notify_one();
}

void Lane::run(const std::shared_ptr<Queue>& queue) {
    const at::NoGradGuard no_grad;
    std::unique_lock lock(queue->mutex);
    while (true) {
        queue->changed.wait(lock, [&] { return queue->closed || !queue->jobs.empty(); });
        if (queue->jobs.empty()) return;
        Entry entry = std::move(queue->jobs.front());
        queue->jobs.pop_front();
        lock.unlock();
        entry.job();
        auto job = std::make_shared<std::function<void()>>(std::move(entry.job));
        const void* const key = job.get();
        hand_over(key, std::move(job));
        entry.after();
        lock.lock();
    }
}

}  // namespace compat::shim::simulate
