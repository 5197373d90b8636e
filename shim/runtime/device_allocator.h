// torch's interface of a device's allocator. Parts that this torch lacks (all before 2.9,
// getMemoryInfo before 2.10) are declared here, and only our own code calls them.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>

#include <cstdint>
#include <utility>

namespace compat::shim {

#ifdef COMPAT_TORCH_HAS_DEVICE_ALLOCATOR
using MempoolId = c10::MempoolId_t;
#ifdef COMPAT_TORCH_HAS_MEMORY_INFO
using DeviceAllocator = c10::DeviceAllocator;
#else
class DeviceAllocator : public c10::DeviceAllocator {
  public:
    virtual std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) = 0;
};
#endif
#else
using MempoolId = std::pair<std::uint64_t, std::uint64_t>;
class DeviceAllocator : public c10::Allocator {
  public:
    virtual bool initialized() = 0;
    virtual void emptyCache(MempoolId) = 0;
    virtual void recordStream(const c10::DataPtr&, c10::Stream) = 0;
    virtual c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) = 0;
    virtual void resetAccumulatedStats(c10::DeviceIndex) = 0;
    virtual void resetPeakStats(c10::DeviceIndex) = 0;
    virtual std::pair<std::size_t, std::size_t> getMemoryInfo(c10::DeviceIndex) = 0;
};
#endif

}  // namespace compat::shim
