// CUDA hooks: what ATen asks of libtorch_cuda if it is loaded.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include <atomic>
#include <new>

#include "cuda/cuda.h"
#include "redirect/state.h"

namespace compat::shim {
namespace {

OpId generator_symbol = 0;
std::atomic<std::int64_t> plan_cache_size{4096};  // CUDA's default since 10.0

class Hooks : public at::CUDAHooksInterface {
  public:
    void init() const override {}
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasCUDA() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    int getNumGPUs() const override { return 1; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex current_device() const override { return 0; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    void setCurrentDevice(c10::DeviceIndex) const override {}
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
    c10::Device getDeviceFromPtr(void*) const override { return {c10::kCUDA, 0}; }
    void deviceSynchronize(c10::DeviceIndex) const override {}
    std::string showConfig() const override { return "CUDA answered by compat_shim\n"; }

    // Settings of preferred_linalg_library and preferred_blas_library.
    bool hasCuSOLVER() const override { return true; }
    bool hasCuBLASLt() const override { return true; }

    // Nothing is cached; only the cache size is stored and returned.
    int64_t cuFFTGetPlanCacheMaxSize(c10::DeviceIndex) const override { return plan_cache_size; }
    void cuFFTSetPlanCacheMaxSize(c10::DeviceIndex, int64_t size) const override {
        plan_cache_size = size;
    }
    int64_t cuFFTGetPlanCacheSize(c10::DeviceIndex) const override { return 0; }
    void cuFFTClearPlanCache(c10::DeviceIndex) const override {}

    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        return default_cuda_generator();
    }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override {
        (void)redirect(generator_symbol, {c10::kCUDA, index});
        return at::detail::createCPUGenerator();
    }

    c10::Allocator* getPinnedMemoryAllocator() const override { return pinned_allocator(); }
    bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
};

// On a host with an accelerator. torch accepts no second one, so it must find no CUDA.
class HooksOfAccelerator final : public Hooks {
  public:
    bool isBuilt() const override { return false; }
    bool isAvailable() const override { return false; }
    bool hasCUDA() const override { return false; }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        return host().getDefaultGenerator(0);
    }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override {
        const c10::Device device = redirect(generator_symbol, {c10::kCUDA, index});
        return device.is_cpu() ? at::detail::createCPUGenerator()
                               : host().getNewGenerator(device.index());
    }

  private:
    static const at::AcceleratorHooksInterface& host() {
        return at::globalContext().getAcceleratorHooksInterface(host_type());
    }
};

}  // namespace

// torch creates its hooks object ("no CUDA") at the first question and keeps a reference to it.
// Neither class has data, so the object can be replaced in place.
void install_hooks() {
    static_assert(sizeof(Hooks) == sizeof(at::CUDAHooksInterface));
    static_assert(sizeof(HooksOfAccelerator) == sizeof(at::CUDAHooksInterface));
    generator_symbol = Recorder::instance().op_id("torch.Generator");
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    if (dynamic_cast<const Hooks*>(&hooks)) return;
    auto* place = const_cast<at::CUDAHooksInterface*>(&hooks);
    if (host_type() == c10::kCPU)
        ::new (place) Hooks();
    else
        ::new (place) HooksOfAccelerator();
}

void install_cuda() {
    install_guard();
    if (host_type() == c10::kCPU) install_allocator();
    install_pinned();
    install_hooks();
}

}  // namespace compat::shim
