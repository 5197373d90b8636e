// ATen's hooks, which ask an accelerator's own library, answered for devices whose memory is the
// host's.
#pragma once

#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <new>
#include <string>

#include "runtime/pinned.h"

namespace compat::shim {

// torch creates its hooks object ("no such device") at the first question and keeps a reference to
// it. The classes have no data, so the object can be replaced in place.
template <class Hooks, class Interface>
void replace_hooks(const Interface& hooks) {
    static_assert(sizeof(Hooks) == sizeof(Interface));
    if (!dynamic_cast<const Hooks*>(&hooks)) ::new (const_cast<Interface*>(&hooks)) Hooks();
}

// torch accepts one accelerator: a build with CUDA finds none from here on, and asks no driver.
inline void hide_cuda() {
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    ::new (const_cast<at::CUDAHooksInterface*>(&hooks)) at::CUDAHooksInterface();
    c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::kCUDA)].store(nullptr);
}

// Hooks of CUDA, in a process where torch's own library of CUDA is absent or finds no device.
// Subclasses provide the devices and generators.
class CudaHooks : public at::CUDAHooksInterface {
  public:
    void init() const override {}
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasCUDA() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex current_device() const override { return getCurrentDevice(); }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex index) const override {
        return exchangeDevice(index);
    }
    c10::Device getDeviceFromPtr(void*) const override { return {c10::kCUDA, getCurrentDevice()}; }
    void deviceSynchronize(c10::DeviceIndex) const override {}

    // Settings of preferred_linalg_library and preferred_blas_library.
    bool hasCuSOLVER() const override { return true; }
    bool hasCuBLASLt() const override { return true; }

    long versionCuDNN() const override { return kCudnnVersion; }
    long versionRuntimeCuDNN() const { return kCudnnVersion; }

    // Nothing is cached; only the cache size is stored and returned.
    int64_t cuFFTGetPlanCacheMaxSize(c10::DeviceIndex) const override { return plan_cache_size; }
    void cuFFTSetPlanCacheMaxSize(c10::DeviceIndex, int64_t size) const override {
        plan_cache_size = size;
    }
    int64_t cuFFTGetPlanCacheSize(c10::DeviceIndex) const override { return 0; }
    void cuFFTClearPlanCache(c10::DeviceIndex) const override {}

    c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
    bool isPinnedPtr(const void* data) const override { return is_pinned(data); }

  private:
    static constexpr long kCudnnVersion = 91002;  // as in compat_shim/cuda/tables.py
    static inline std::atomic<std::int64_t> plan_cache_size{4096};  // CUDA's default since 10.0
};

}  // namespace compat::shim
