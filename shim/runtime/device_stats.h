// Statistics of a device's memory as torch has them (c10::DeviceAllocator::getDeviceStats).
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include "runtime/counter.h"

namespace compat::shim {

// Memory of tensors counts as allocated, active and reserved; nothing is cached.
inline c10::CachingDeviceAllocator::DeviceStats device_stats(const Figure& bytes,
                                                             const Figure& blocks) {
    c10::CachingDeviceAllocator::DeviceStats stats;
    const auto fill = [](auto& stat, const Figure& figure) {
        for (const std::size_t pool : {0, 2}) {  // small and large together; large
            stat[pool].current = figure.current;
            stat[pool].peak = figure.peak;
            stat[pool].allocated = figure.allocated;
            stat[pool].freed = figure.freed;
        }
    };
    for (auto* stat : {&stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes,
                       &stats.requested_bytes})
        fill(*stat, bytes);
    for (auto* stat : {&stats.allocation, &stats.segment, &stats.active}) fill(*stat, blocks);
    return stats;
}

}  // namespace compat::shim
