#include "runtime/pinned.h"

#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <unordered_map>

#include "runtime/fork_safe_mutex.h"

namespace compat::shim {
namespace {

// Never destroyed: tensors outlive statics.
struct Pinned {
    ForkSafeMutex mutex;
    std::unordered_map<const void*, std::size_t> live;  // bytes asked for
    Counter bytes, blocks;
};

Pinned& pinned() {
    static auto* instance = new Pinned();
    return *instance;
}

void free_pinned(void* data) {
    auto& state = pinned();
    {
        const std::lock_guard lock(state.mutex);
        const auto found = state.live.find(data);
        if (found != state.live.end()) {
            state.bytes.remove(static_cast<std::int64_t>(found->second));
            state.blocks.remove(1);
            state.live.erase(found);
        }
    }
    c10::GetDefaultCPUAllocator()->raw_deallocate(data);
}

void fill(c10::CachingAllocator::Stat& stat, const Figure& figure) {
    stat.current = figure.current;
    stat.peak = figure.peak;
    stat.allocated = figure.allocated;
    stat.freed = figure.freed;
}

// torch 2.9 renamed some members.
template <class Stats>
void fill_stats(Stats& stats, const PinnedFigures& figures) {
    if constexpr (requires { stats.active_requests; }) {
        for (auto* stat : {&stats.allocations, &stats.active_requests}) fill(*stat, figures.blocks);
        for (auto* stat : {&stats.allocated_bytes, &stats.active_bytes}) fill(*stat, figures.bytes);
    } else {
        fill(stats.allocation, figures.blocks);
        fill(stats.allocated_bytes, figures.bytes);
    }
    stats.num_host_alloc = figures.blocks.allocated;
    stats.num_host_free = figures.blocks.freed;
}

class PinnedAllocator final : public at::HostAllocator {
  public:
    c10::DataPtr allocate(std::size_t count) override {
        void* data = c10::GetDefaultCPUAllocator()->raw_allocate(count);
        if (data) {
            auto& state = pinned();
            const std::lock_guard lock(state.mutex);
            state.live[data] = count;
            state.bytes.add(static_cast<std::int64_t>(count));
            state.blocks.add(1);
        }
        return {data, data, &free_pinned, c10::Device(c10::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
    void copy_data(void* to, const void* from, std::size_t count) const override {
        default_copy_data(to, from, count);
    }
    // Copies have ended when their call returns, and freed memory is not cached.
    bool record_event(void* data, void*, c10::Stream) override { return is_pinned(data); }
    void empty_cache() override {}
    at::HostStats get_stats() override {
        const PinnedFigures figures = pinned_figures();
        at::HostStats stats;
        fill_stats(stats, figures);
        return stats;
    }
    void reset_accumulated_stats() override { reset_accumulated_pinned(); }
    void reset_peak_stats() override { reset_peak_pinned(); }
};

PinnedAllocator* allocator() {
    static auto* instance = new PinnedAllocator();
    return instance;
}

}  // namespace

PinnedFigures pinned_figures() { return {pinned().bytes.figure(), pinned().blocks.figure()}; }

void reset_peak_pinned() {
    pinned().bytes.reset_peak();
    pinned().blocks.reset_peak();
}

void reset_accumulated_pinned() {
    pinned().bytes.reset_accumulated();
    pinned().blocks.reset_accumulated();
}

c10::Allocator* pinned_allocator() { return allocator(); }

bool is_pinned(const void* pointer) {
    auto& state = pinned();
    const std::lock_guard lock(state.mutex);
    return state.live.count(pointer) > 0;
}

void install_pinned(c10::DeviceType type) {
    at::setHostAllocator(type, allocator(), kHighestPriority);
}

}  // namespace compat::shim
