// The device guard of the pretended CUDA device.
#include <string>

#include "redirect/cuda.h"
#include "runtime/guard.h"

namespace compat::shim {
namespace {

class PretendedGuard final : public Guard {
  public:
    PretendedGuard() : Guard(c10::kCUDA) {}
    int current() const noexcept override { return 0; }
    int exchange(int index) const override {
        constexpr int kInvalidDevice = 101;  // cudaErrorInvalidDevice
        if (index > 0)
            throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, kInvalidDevice,
                                        "CUDA error: invalid device ordinal (" +
                                            std::to_string(index) +
                                            "; one device is shown, cuda:0)");
        return 0;
    }
    // 0, although torch.cuda.device_count() is 1. Autograd starts a thread for each device counted
    // here, and a process with such threads cannot run a backward pass after a fork.
    c10::DeviceIndex deviceCount() const noexcept override { return 0; }
};

}  // namespace

void install_guard() {
    static const auto* guard = new PretendedGuard();
    Guard::install(guard);
}

}  // namespace compat::shim
