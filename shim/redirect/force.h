// Mode `full` where the host has an accelerator: what names the CPU, or no device, goes there as
// well. The policy says where; here is whose request it is. torch itself makes tensors on the CPU
// that must stay there, and its kernels see those requests, too.
//
// The user's requests are those of ops that Python calls, of none that ops call inside: the mode's
// key is taken from the thread while an op runs (`call_below`), also from Python that an op calls
// (a custom op's body, a TorchDispatchMode). Of these, left alone are calls that C++ makes between
// two ops (torch.tensor fills on the CPU what it lifts afterwards) and callers inside torch that
// need host memory, such as a backward pass (python/compat_shim/host_callers.py).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include "record/recorder.h"

namespace compat::shim {

// Whether this process does so.
[[nodiscard]] bool forces() noexcept;

// Where the user's request for the CPU goes, for callers outside the dispatcher; counted.
[[nodiscard]] c10::Device force(OpId symbol) noexcept;

// Whether the op under way on this thread was called by the user, as far as frames and keys tell.
[[nodiscard]] bool asked_by_the_user() noexcept;

// The op without the mode's key: in this call, and where this process forces in all below it.
void call_below(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

// Of ops that have no kernel of ours, where this process forces.
void force_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

// What torch.tensor and its like hand out: filled on the CPU, and moved here.
class LiftKernel final : public c10::OperatorKernel {
  public:
    explicit LiftKernel(OpId id) : id_(id) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

  private:
    OpId id_;
};

}  // namespace compat::shim
