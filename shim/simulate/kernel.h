// The boxed kernel that replaces a kernel of the accelerator. It checks devices as upstream's
// wrapper does, runs the CPU's kernel on CPU aliases of the tensors, and returns the results on the
// device.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/accelerator.h"
#include "simulate/refusals.h"

namespace compat::shim::simulate {

class Kernel final : public c10::OperatorKernel {
  public:
    Kernel(const Operator& row, const c10::OperatorHandle& op);
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack) const;

    enum class Kind : std::uint8_t { other, tensor, tensors, device, generator };
    struct Argument {
        Kind kind = Kind::other;
        bool written = false;
        bool optional_items = false;  // of a list
        bool ignored = false;         // the CPU's kernel has no choice for it
    };

  private:
    Operator row_;
    c10::SmallVector<Argument, 12> arguments_;
    Rules rules_;
    bool draws_;               // has a Generator argument
    bool seeded_;              // draws random numbers and has no Generator argument
    bool divides_;             // divides integers (kernels/zero_division.h)
    bool waits_;               // the host reads what it computes, such as a size
    Computation computation_;  // null: the CPU's kernel
};

// Registers a kernel for each operator that this torch has.
void register_operators(std::span<const Operator> operators);

// Makes the kernels raise NotImplementedError, which does not count as a refusal of the device.
void refuse_unsimulated(std::span<const Unsimulated> kernels);

// Makes ops on memory that GPUs share raise it, too: this build of torch has no kernels for them.
void refuse_symmetric_memory();

// In a build of torch for such devices, finds aten's ops that have a kernel under one of the keys
// and are not in the table. Makes them raise NotImplementedError: their kernels would run on host
// memory. Ops that are composite on the CPU, as rms_norm, are computed by their parts.
void withdraw_other_kernels(std::span<const Operator> operators, const Accelerator::Keys& keys);

// Registers a kernel of this folder under the key of dense tensors. It first checks the op's rules.
void add_checked(const char* name, c10::KernelFunction kernel);
template <class Function>
void add_checked(const char* name, Function* function) {
    add_checked(name, c10::KernelFunction::makeFromUnboxedRuntimeFunction(function));
}

// Raises NotImplementedError; computes on the CPU in a process that keeps going.
void refuse_call(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Names of torch.distributed's ops; none where this torch has no such package.
[[nodiscard]] std::vector<c10::OperatorName> collectives();

// Call first in a kernel of the accelerator: begins its use and counts it. Throws if the device is
// lost.
void begin_kernel();

// Counts a call that runs no kernel: one that a lost device refuses.
void count_kernel() noexcept;

// Number of the accelerator's kernels that ran since the last call, in all threads, including
// allocations and copies to and from the device.
[[nodiscard]] std::uint64_t take_kernel_count() noexcept;

// Runs `op` on the CPU, whatever devices its tensors are on. Returns the results on the
// accelerator, with the dtypes that the accelerator computes.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Runs `op` like the device's own fallback: with the CPU's dtypes and errors.
void fall_back_to_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace compat::shim::simulate
