// Mode `full` on a host with an accelerator: requests for the CPU, or without a device, go to the
// accelerator too. The policy says where; this file decides whether a request is the user's. torch
// itself makes tensors on the CPU that must stay there, and the shim's kernels see those requests
// too.
//
// The user's requests are those of ops that Python calls, not of ops that other ops call. So the
// mode's key is removed from the thread while an op runs (`call_below`). This includes Python code
// that an op calls (a custom op's body, a TorchDispatchMode). Two kinds of remaining requests are
// left alone: calls that C++ makes between two ops (torch.tensor fills a CPU tensor that it moves
// afterwards), and callers inside torch that need host memory, such as a backward pass
// (python/compat_shim/redirect/host_callers.py).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include "record/recorder.h"

namespace compat::shim {

// Whether this process redirects requests for the CPU.
[[nodiscard]] bool forces() noexcept;

// Where the user's request for the CPU goes, for callers outside the dispatcher. Counts the event.
[[nodiscard]] c10::Device force(OpId symbol) noexcept;

// Whether the user called the op that runs on this thread, as far as frames and keys tell.
[[nodiscard]] bool asked_by_the_user() noexcept;

// Calls the op without the mode's key: in this call and, if this process forces, in everything
// below it.
void call_below(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack);

// For ops without a kernel of ours, if this process forces.
void force_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

// Results of torch.tensor and the like, which are filled on the CPU and moved here.
class LiftKernel final : public c10::OperatorKernel {
  public:
    explicit LiftKernel(OpId id) : id_(id) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

  private:
    OpId id_;
};

}  // namespace compat::shim
