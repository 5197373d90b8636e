// Memory of the simulated devices: the host's, counted by device. CPU memory filled by a kernel is
// adopted without a copy.
#pragma once

#include <c10/core/Storage.h>

#include "runtime/counter.h"
#include "runtime/device_allocator.h"

namespace compat::shim::simulate {

[[nodiscard]] DeviceAllocator& allocator() noexcept;

// A storage on `device` over the memory of `host`, which it keeps alive.
[[nodiscard]] c10::Storage adopt(const c10::Storage& host, c10::Device device);
// The same for memory that a kernel gave the storage's CPU alias in place of its own.
[[nodiscard]] c10::DataPtr adopt_memory(const c10::Storage& host, c10::Device device);

// In bytes as the device's allocator rounds them, and in blocks.
struct DeviceFigures {
    Figure bytes, blocks;
    std::int64_t limit = 0;  // bytes
};
[[nodiscard]] DeviceFigures device_figures(int device);
void reset_device_peak(int device);
void reset_device_accumulated(int device);
// Throws if `bytes` is negative.
void set_device_limit(int device, std::int64_t bytes);

}  // namespace compat::shim::simulate
