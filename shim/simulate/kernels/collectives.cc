// torch.distributed on simulated CUDA devices. Collectives run on the tensors' memory as on the
// CPU's, because gloo's kernels for CUDA need its driver. DistributedDataParallel asks for a timer
// of the device's type.
#include <torch/library.h>

#include <memory>
#include <torch/csrc/distributed/c10d/reducer_timer.hpp>

#include "simulate/accelerator.h"
#include "simulate/kernel.h"
#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

// Work has ended when its call returns: the host's time is the device's.
class Timer final : public c10d::Timer {
  public:
    explicit Timer(c10::Device) {}
    std::optional<std::int64_t> measureDifference(Event start, Event end) override {
        const auto from = getTimestamp(start), to = getTimestamp(end);
        if (!from || !to || *to < *from) return std::nullopt;
        return *to - *from;
    }
};

}  // namespace

void add_collectives() {
    const auto ops = collectives();
    if (ops.empty()) return;
    auto* distributed = new torch::Library(torch::Library::IMPL, "c10d", accelerator().keys().dense,
                                           __FILE__, __LINE__);
    for (const c10::OperatorName& name : ops)
        distributed->impl(c10::toString(name).c_str(),
                          torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>());
    // A build with CUDA has one, which asks the driver.
    c10d::TimerRegistry()->Register(
        accelerator().type(),
        [](c10::Device device) -> std::unique_ptr<c10d::Timer> {
            return std::make_unique<Timer>(device);
        },
        c10::REGISTRY_PREFERRED);
}

}  // namespace compat::shim::simulate
