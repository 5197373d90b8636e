// The hooks of the pretended CUDA device, and of MPS where the host lacks it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/MPSHooksInterface.h>

#include "redirect/accelerator.h"
#include "redirect/cuda.h"
#include "redirect/state.h"
#include "runtime/hooks.h"

namespace compat::shim {
namespace {

OpId generator_symbol = 0;

at::Generator redirected_generator(c10::Device asked) {
    const c10::Device device = redirect(generator_symbol, asked);
    if (device.is_cpu()) return at::detail::createCPUGenerator();
    return at::globalContext()
        .getAcceleratorHooksInterface(device.type())
        .getNewGenerator(device.index());
}

// One device, cuda:0. Its tensors are on the CPU.
class HostHooks : public CudaHooks {
  public:
    int getNumGPUs() const override { return 1; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    void setCurrentDevice(c10::DeviceIndex) const override {}
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
    std::string showConfig() const override { return "CUDA answered by compat_shim\n"; }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        return default_cuda_generator();
    }
    at::Generator getNewGenerator(c10::DeviceIndex index) const override {
        return redirected_generator({c10::kCUDA, index});
    }
};

// On a host with an accelerator. torch accepts no second one, so it must find no CUDA.
class AcceleratorHooks final : public HostHooks {
  public:
    bool isBuilt() const override { return false; }
    bool isAvailable() const override { return false; }
    bool hasCUDA() const override { return false; }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
        return accelerator_generator();
    }
};

// There is no MPS; requests for its generators are redirected, as those for its tensors are.
class NoMpsHooks final : public at::MPSHooksInterface {
  public:
    at::Generator getNewGenerator(c10::DeviceIndex index) const override {
        return redirected_generator({c10::kMPS, index});
    }
};

}  // namespace

void install_hooks() {
    const at::CUDAHooksInterface& hooks = at::detail::getCUDAHooks();
    if (host_kind().is_accelerator)
        replace_hooks<AcceleratorHooks>(hooks);
    else
        replace_hooks<HostHooks>(hooks);
}

void install_generators() {
    generator_symbol = Recorder::instance().op_id("torch.Generator");
    if (!host_kind().serves_mps) replace_hooks<NoMpsHooks>(at::detail::getMPSHooks());
}

void install_cuda() {
    install_guard();
    if (!host_kind().is_accelerator) install_allocator();
    install_pinned(c10::kCUDA);
    install_hooks();
}

}  // namespace compat::shim
