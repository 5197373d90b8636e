// Memory of the pretended CUDA device, which is the host's.
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>
#ifdef __APPLE__
#include <malloc/malloc.h>
#else
#include <malloc.h>
#endif

#include "redirect/cuda.h"
#include "runtime/device_allocator.h"
#include "runtime/device_stats.h"
#include "runtime/host_memory.h"
#include "runtime/pinned.h"

namespace compat::shim {
namespace {

Counter bytes;
Counter blocks;

// The size that the C library allocated, a few bytes more than requested. It can be read again at
// free, without a table.
std::int64_t size_of(void* data) {
#ifdef __APPLE__
    return static_cast<std::int64_t>(malloc_size(data));
#else
    return static_cast<std::int64_t>(malloc_usable_size(data));
#endif
}

void free_counted(void* data) {
    bytes.remove(size_of(data));
    blocks.remove(1);
    c10::profiledCPUMemoryReporter().Delete(data);
    c10::free_cpu(data);
}

// As above; the different function pointer marks the block.
void free_as_cuda(void* data) { free_counted(data); }

// torch's default CPU allocator (alloc_cpu and a report to the profiler), plus the counts.
class CountingAllocator final : public c10::Allocator {
  public:
    c10::DataPtr allocate(std::size_t count) override {
        void* data = nullptr;
        try {
            data = c10::alloc_cpu(count);
        } catch (const c10::Error& error) {
            c10::profiledCPUMemoryReporter().OutOfMemory(count);
            if (!AsCuda::active()) throw;
            // The error on which code for CUDA retries with less.
            TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate ",
                             count,
                             " bytes of the host's memory: ", error.what_without_backtrace());
        }
        if (data) {
            c10::profiledCPUMemoryReporter().New(data, count);
            bytes.add(size_of(data));
            blocks.add(1);
        }
        return {data, data, AsCuda::active() ? &free_as_cuda : &free_counted,
                c10::Device(c10::kCPU)};
    }
    c10::DeleterFnPtr raw_deleter() const override { return &free_counted; }
    void copy_data(void* to, const void* from, std::size_t count) const override {
        default_copy_data(to, from, count);
    }
};

class CudaAllocator final : public DeviceAllocator {
  public:
    c10::DataPtr allocate(std::size_t count) override {
        const AsCuda scope;
        return c10::GetCPUAllocator()->allocate(count);
    }
    c10::DeleterFnPtr raw_deleter() const override { return c10::GetCPUAllocator()->raw_deleter(); }
    void copy_data(void* to, const void* from, std::size_t count) const override {
        default_copy_data(to, from, count);
    }
    bool initialized() override { return true; }
    void emptyCache(MempoolId) override {}
    void recordStream(const c10::DataPtr&, c10::Stream) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
        return device_stats(bytes.figure(), blocks.figure());
    }
    void resetAccumulatedStats(c10::DeviceIndex) override { reset_accumulated_memory(); }
    void resetPeakStats(c10::DeviceIndex) override { reset_peak_memory(); }
    std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) override {
        const HostMemory host = host_memory();
        return {static_cast<std::size_t>(host.free), static_cast<std::size_t>(host.total)};
    }
};

}  // namespace

TensorMemory tensor_memory() { return {bytes.figure(), blocks.figure()}; }

void reset_peak_memory() {
    bytes.reset_peak();
    blocks.reset_peak();
}

void reset_accumulated_memory() {
    bytes.reset_accumulated();
    blocks.reset_accumulated();
}

bool made_as_cuda(const at::TensorBase& tensor) noexcept {
    const auto* impl = tensor.unsafeGetTensorImpl();
    if (!impl->key_set().has(c10::DispatchKey::CPU) || !impl->has_storage()) return false;
    auto* storage = impl->unsafe_storage().unsafeGetStorageImpl();
    return storage && storage->_mutable_data_ptr_no_checks().get_deleter() == &free_as_cuda;
}

void install_allocator() {
    static auto* cuda = new CudaAllocator();
    c10::SetAllocator(c10::kCUDA, cuda, kHighestPriority);
    static auto* counting = new CountingAllocator();  // for the life of the process
    c10::SetCPUAllocator(counting);
}

}  // namespace compat::shim
