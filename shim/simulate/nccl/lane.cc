#include "simulate/nccl/lane.h"

#include <ATen/core/grad_mode.h>

#include <thread>
#include <utility>
#include <vector>

namespace compat::shim::simulate {
namespace {

struct HandedOver {
    std::mutex mutex;
    std::vector<std::shared_ptr<void>> owners;
};
HandedOver& handed_over() {
    static auto* all = new HandedOver();  // our threads outlive statics
    return *all;
}

}  // namespace

void hand_over(std::shared_ptr<void> owner) {
    const std::lock_guard lock(handed_over().mutex);
    handed_over().owners.push_back(std::move(owner));
}

void drop_handed_over() noexcept {
    std::vector<std::shared_ptr<void>> owners;
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

// A job that waits for a peer that never comes must not keep the process from ending: the thread is
// not joined, and owns what it uses.
void Lane::post(std::function<void()> job, std::function<void()> after) {
    if (!queue_) {
        queue_ = std::make_shared<Queue>();
        std::thread([queue = queue_] { run(queue); }).detach();
    }
    const std::lock_guard lock(queue_->mutex);
    queue_->jobs.push_back({std::move(job), std::move(after)});
    queue_->changed.notify_one();
}

Lane::~Lane() {
    if (!queue_) return;
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
        hand_over(std::make_shared<std::function<void()>>(std::move(entry.job)));
        entry.after();
        lock.lock();
    }
}

}  // namespace compat::shim::simulate
