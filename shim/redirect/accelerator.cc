#include "redirect/accelerator.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include <atomic>

#include "redirect/state.h"

namespace compat::shim {

const at::Generator& accelerator_generator() {
    return at::globalContext().defaultGenerator({host_type(), 0});
}

std::optional<std::int64_t> take_accelerator_allocations() {
#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
    static std::atomic<std::int64_t> taken{0};
    auto* allocator = dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(host_type()));
    if (!allocator) return std::nullopt;
    if (!allocator->initialized()) return 0;
    const auto& hooks = at::globalContext().getAcceleratorHooksInterface(host_type());
    std::int64_t allocations = 0;
    for (c10::DeviceIndex i = 0; i < hooks.deviceCount(); ++i)
        allocations += allocator->getDeviceStats(i).allocation[0].allocated;
    return allocations - taken.exchange(allocations);
#else
    return std::nullopt;
#endif
}

}  // namespace compat::shim
