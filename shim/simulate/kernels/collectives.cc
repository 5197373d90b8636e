// torch.distributed on simulated CUDA devices. Groups of NCCL compute in a backend of ours (nccl/).
// Collectives of groups of gloo run on the tensors' memory as on the CPU's, because gloo's kernels
// for CUDA need its driver. DistributedDataParallel asks for a timer of the device's type.
#include <torch/library.h>

#include <memory>
#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
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

// The group among a collective call's arguments.
c10::IValue* group_in(torch::jit::Stack& stack) {
    for (c10::IValue& value : stack)
        if (value.isObject() && value.type()->str().ends_with(".c10d.ProcessGroup")) return &value;
    return nullptr;
}

// If the backend of `group` for CUDA is NCCL's: a group with this backend for the CPU.
c10::intrusive_ptr<c10d::ProcessGroup> with_nccl_for_cpu(const c10::IValue& group) {
    const auto of_cuda = group.toCustomClass<c10d::ProcessGroup>();
    const auto backend = of_cuda->getBackend(c10::kCUDA);
    if (!backend->getBackendName().starts_with("nccl")) return {};
    auto twin = c10::make_intrusive<c10d::ProcessGroup>(of_cuda->getRank(), of_cuda->getSize());
    // setBackend gives the backend the group's device.
    twin->setBoundDeviceId(of_cuda->getBoundDeviceId());
    twin->setBackend(c10::kCPU, c10d::ProcessGroup::BackendType::NCCL, backend);
    return twin;
}

// torch's kernel for the CPU takes the group's CPU backend and passes it the tensors as they are.
// Ours replaces torch's kernel for CUDA, which would take the CUDA backend.
void run_collective(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    c10::IValue* const group = group_in(*stack);
    if (auto twin = group ? with_nccl_for_cpu(*group) : nullptr) {
        *group = c10::IValue(std::move(twin));
        op.callBoxedForDispatchKey(c10::DispatchKey::CPU, *stack);
        return;
    }
    run_on_cpu(op, stack);
}

}  // namespace

void add_collectives() {
    const auto ops = collectives();
    if (ops.empty()) return;
    auto* distributed = new torch::Library(torch::Library::IMPL, "c10d", accelerator().keys().dense,
                                           __FILE__, __LINE__);
    for (const c10::OperatorName& name : ops)
        distributed->impl(c10::toString(name).c_str(),
                          torch::CppFunction::makeFromBoxedFunction<&run_collective>());
    // A build with CUDA has its own timer, which asks the driver.
    c10d::TimerRegistry()->Register(
        accelerator().type(),
        [](c10::Device device) -> std::unique_ptr<c10d::Timer> {
            return std::make_unique<Timer>(device);
        },
        c10::REGISTRY_PREFERRED);
}

}  // namespace compat::shim::simulate
