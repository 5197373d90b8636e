#include "redirect/accelerator.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>

#include "redirect/state.h"

namespace compat::shim {

#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
namespace {

// Null if the accelerator's allocator does not count. Also null if none is registered, as for MPS
// in torch 2.10, where torch throws.
c10::DeviceAllocator* counting_allocator() {
    try {
        return dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(host_type()));
    } catch (const c10::Error&) {
        return nullptr;
    }
}

}  // namespace
#endif

const at::Generator& accelerator_generator() {
    return at::globalContext().defaultGenerator({host_type(), 0});
}

std::optional<std::int64_t> take_accelerator_allocations() {
#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
    static std::atomic<std::int64_t> taken{0};
    auto* allocator = counting_allocator();
    if (!allocator) return std::nullopt;
    if (!allocator->initialized()) return 0;
    // Not asked of the hooks: those of MPS count no device in some versions.
    const auto count = c10::impl::VirtualGuardImpl(host_type()).deviceCount();
    std::int64_t allocations = 0;
    for (c10::DeviceIndex i = 0; i < count; ++i)
        allocations += allocator->getDeviceStats(i).allocation[0].allocated;
    return allocations - taken.exchange(allocations);
#else
    return std::nullopt;
#endif
}

}  // namespace compat::shim
