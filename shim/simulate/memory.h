// Memory of the simulated devices: the host's, counted by device. CPU memory filled by a kernel is
// adopted without a copy.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>

#include <cstdint>
#include <limits>
#include <string>

#include "runtime/counter.h"
#include "runtime/device_allocator.h"
#include "runtime/export.h"

namespace compat::shim::simulate {

[[nodiscard]] DeviceAllocator& allocator() noexcept;

// A storage on `device` over the memory of `host`, which it keeps alive.
[[nodiscard]] c10::Storage adopt(const c10::Storage& host, c10::Device device);
// Adopts memory that a kernel gave the storage's CPU alias in place of its own.
[[nodiscard]] c10::DataPtr adopt_memory(const c10::Storage& host, c10::Device device);

// CUDA makes a device's context at its first use, such as an allocation. Pinned memory belongs to a
// device that has one, else to the first device, which gets one.
[[nodiscard]] bool has_context(int device);
void make_context(int device);

// Bytes as the device's allocator rounds them, and blocks.
struct DeviceFigures {
    Figure bytes, blocks;
    std::int64_t limit = 0;  // bytes
};
[[nodiscard]] DeviceFigures device_figures(int device);
void reset_device_peak(int device);
void reset_device_accumulated(int device);
// Throws if `bytes` is negative. A device's limit is the host's memory until it is set.
void set_device_limit(int device, std::int64_t bytes);
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

// Replaces the CPU's allocator. The new one raises the device's out-of-memory error for a
// `KernelMemory`'s thread. It raises our own error if the device has room and the host has none.
void bound_host_allocator();

// While it lives, this thread's CPU allocations are a kernel's result or workspace on `device`: a
// block that does not fit there is refused before it is filled.
class KernelMemory {
  public:
    explicit KernelMemory(c10::Device device) noexcept;
    ~KernelMemory();
    KernelMemory(const KernelMemory&) = delete;
    KernelMemory& operator=(const KernelMemory&) = delete;

  private:
    int before_;
};

// Called before the device's out-of-memory error, to free memory that nothing uses any more. The
// parts that keep such memory give one function each.
COMPAT_EXPORT void reclaim_memory_by(void (*free_unused)());

// While it lives, this thread holds addresses of tensors' memory, and no memory moves.
class AddressesInUse {
  public:
    AddressesInUse();
    ~AddressesInUse();
    AddressesInUse(const AddressesInUse&) = delete;
    AddressesInUse& operator=(const AddressesInUse&) = delete;
};

// While it lives, the tensor's memory does not move, even if no thread has AddressesInUse.
class COMPAT_EXPORT StorageInUse {
  public:
    explicit StorageInUse(const at::Tensor& tensor);
    ~StorageInUse();
    StorageInUse(StorageInUse&& other) noexcept;
    StorageInUse& operator=(StorageInUse&&) = delete;

  private:
    const c10::StorageImpl* storage_;
};
[[nodiscard]] bool is_in_use(const c10::StorageImpl& storage);

// While it lives, no thread is given an address of tensors' memory. It does not wait: false if a
// thread holds one now.
class MovingMemory {
  public:
    MovingMemory();
    ~MovingMemory();
    MovingMemory(const MovingMemory&) = delete;
    MovingMemory& operator=(const MovingMemory&) = delete;
    explicit operator bool() const noexcept { return moves_; }

  private:
    bool moves_;
};

// A size as CUDACachingAllocator.cpp and MPSAllocator.mm write it: "1.50 GiB".
[[nodiscard]] std::string readable_size(std::int64_t bytes);

}  // namespace compat::shim::simulate
