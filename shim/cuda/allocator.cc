// Memory of the pretended CUDA device, which is the host's.
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <mutex>
#include <unordered_set>

#include "cuda/cuda.h"

namespace compat::shim {
namespace {

std::atomic<std::int64_t> peak_since_reset{0};

std::int64_t pages(long count) { return static_cast<std::int64_t>(count) * sysconf(_SC_PAGESIZE); }

// Where the system has no /proc, the process's peak stands for its present size.
std::int64_t resident_bytes() {
    long total = 0;
    long resident = 0;
    if (std::ifstream statm("/proc/self/statm"); statm >> total >> resident) return pages(resident);
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
    return usage.ru_maxrss;
#else
    return usage.ru_maxrss * 1024;
#endif
}

class CudaAllocator final : public c10::DeviceAllocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        return c10::GetCPUAllocator()->allocate(bytes);
    }
    c10::DeleterFnPtr raw_deleter() const override { return c10::GetCPUAllocator()->raw_deleter(); }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t) override {}
    void recordStream(const c10::DataPtr&, c10::Stream) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
        const MemoryFigures figures = memory_figures();
        c10::CachingDeviceAllocator::DeviceStats stats;
        for (auto* stat : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                           &stats.requested_bytes}) {
            auto& all = (*stat)[0];  // 0: small and large pools together
            all.current = all.allocated = figures.current;
            all.peak = figures.peak;
        }
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex) override {}
    void resetPeakStats(c10::DeviceIndex) override { reset_peak_memory(); }
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
        const MemoryFigures figures = memory_figures();
        return {static_cast<std::size_t>(figures.free), static_cast<std::size_t>(figures.total)};
    }
};

// What PinnedAllocator handed out and has not got back. Never destroyed: tensors outlive statics.
struct PinnedBlocks {
    std::mutex mutex;
    std::unordered_set<const void*> live;
};

PinnedBlocks& pinned_blocks() {
    static auto* blocks = new PinnedBlocks();
    return *blocks;
}

void free_pinned(void* data) {
    {
        auto& blocks = pinned_blocks();
        const std::lock_guard lock(blocks.mutex);
        blocks.live.erase(data);
    }
    c10::GetDefaultCPUAllocator()->raw_deallocate(data);
}

class PinnedAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(std::size_t bytes) override {
        void* data = c10::GetDefaultCPUAllocator()->raw_allocate(bytes);
        if (data) {
            auto& blocks = pinned_blocks();
            const std::lock_guard lock(blocks.mutex);
            blocks.live.insert(data);
        }
        return {data, data, &free_pinned, c10::Device(c10::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_pinned; }
    void copy_data(void* to, const void* from, std::size_t bytes) const override {
        default_copy_data(to, from, bytes);
    }
};

}  // namespace

MemoryFigures memory_figures() {
    MemoryFigures figures;
    figures.current = resident_bytes();
    std::int64_t peak = peak_since_reset.load();
    while (peak < figures.current && !peak_since_reset.compare_exchange_weak(peak, figures.current))
        ;
    figures.peak = std::max(peak, figures.current);
    figures.total = pages(sysconf(_SC_PHYS_PAGES));
#ifdef _SC_AVPHYS_PAGES
    figures.free = pages(sysconf(_SC_AVPHYS_PAGES));
#else
    figures.free = std::max<std::int64_t>(0, figures.total - figures.current);
#endif
    return figures;
}

void reset_peak_memory() { peak_since_reset.store(resident_bytes()); }

c10::Allocator* pinned_allocator() {
    static auto* allocator = new PinnedAllocator();
    return allocator;
}

bool is_pinned(const void* pointer) {
    auto& blocks = pinned_blocks();
    const std::lock_guard lock(blocks.mutex);
    return blocks.live.count(pointer) > 0;
}

void install_allocator() {
    if (!c10::GetAllocator(c10::kCUDA)) c10::SetAllocator(c10::kCUDA, new CudaAllocator());
}

}  // namespace compat::shim
