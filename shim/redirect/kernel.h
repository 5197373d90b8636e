// Kernels that rewrite an op's Device argument in the dispatcher. registration.h decides which ops
// get one, and under which keys.
//
// GenericMode is above the autograd, Python, Fake and functorch keys, so it sees the user's
// request. It works in threads whose TLS includes it. BackendSelect is below them and in every
// thread; it covers threads that Python did not start.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include "policy/policy.h"
#include "record/recorder.h"

namespace compat::shim {

inline constexpr auto kModeKey = c10::DispatchKey::TESTING_ONLY_GenericMode;
inline const c10::DispatchKeySet kAfterMode(c10::DispatchKeySet::FULL_AFTER, kModeKey);

// Argument positions in an op's schema; -1 if it has no such argument.
struct OpShape {
    OpId id = 0;
    int arguments = 0;
    int device = -1;
    int copy = -1;  // only aten::to, whose `self` is argument 0
    int dtype = -1;
    int layout = -1;
    int pinned = -1;
    int generator = -1;
    bool tensors = false;  // whether an argument is a tensor, or a list of them
};

// The other positions are found only where there is a device.
[[nodiscard]] OpShape shape_of(const c10::FunctionSchema& schema);

// Never called with Change::none.
[[nodiscard]] EventKind event_kind(Change change) noexcept;

// Replaces a request's device by the decided one, and counts the event. Returns whether the host
// stands for CUDA from here on.
[[nodiscard]] bool redirect_request(OpId op, c10::Device& device);

// Whether an op at the mode's key has only the choice of a backend ahead of it: it runs outside
// functorch, fake tensors and the like. The shim then makes the choice, and a kernel that somebody
// registers for BackendSelect after activation is not called.
[[nodiscard]] bool comes_to_backend_select(c10::DispatchKeySet keys);

class ModeKernel final : public c10::OperatorKernel {
  public:
    // `selects`: the op has a BackendSelectKernel, too.
    ModeKernel(OpShape shape, bool selects) : shape_(shape), selects_(selects) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

  private:
    OpShape shape_;
    bool selects_;
};

class BackendSelectKernel final : public c10::OperatorKernel {
  public:
    explicit BackendSelectKernel(OpShape shape) : shape_(shape) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack);

  private:
    OpShape shape_;
};

// An op that fills its first argument with random numbers and takes no device. For a tensor made as
// on CUDA the numbers come from CUDA's generator.
void random_fill_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                        torch::jit::Stack* stack);
// Whether random_fill_kernel fits the op, by its schema and tags.
[[nodiscard]] bool fills_with_random_numbers(const c10::OperatorHandle& op);

// Does nothing: work on a stream of the pretended CUDA has ended when its call returns, or is
// ordered by the accelerator's own stream, so it keeps no memory alive.
void record_stream_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                          torch::jit::Stack* stack);
// Used where torch has a record_stream kernel for the accelerator. Calls that one for the
// accelerator's own streams.
void record_own_stream_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                              torch::jit::Stack* stack);

}  // namespace compat::shim
