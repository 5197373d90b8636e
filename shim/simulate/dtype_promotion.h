// Dtype promotion: dtypes that the accelerator computes and the CPU has no kernel for are computed
// in a wider one and rounded at the end. Half precision uses single precision; integers and Bool
// follow the rules (refusals.h). Rounding inside the device's kernels is not imitated.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>
#include <vector>

namespace compat::shim::simulate {

class Rules;

// From one dtype to another that can represent it, or to a second if the first has no kernel
// either.
struct DtypePromotion {
    c10::ScalarType narrow, first, second;
    std::string_view keep;  // an argument that stays unchanged
};

// The promotion for an op with a tensor of this dtype; null if there is none, or upstream does not
// compute it.
[[nodiscard]] std::optional<DtypePromotion> promotion(c10::ScalarType dtype,
                                                      const Rules* rules) noexcept;

// Whether a CPU kernel reported that it has none for the dtype. It does so before it writes.
[[nodiscard]] bool lacks_dtype(const c10::Error& error);

// Whether a CPU kernel named itself or the CPU.
[[nodiscard]] bool names_the_cpu(const c10::Error& error);

// Throws `error` again as most of the accelerator's kernels name themselves: `"add_stub" not
// implemented for 'UInt16'` becomes "add_cuda"; or as refuse_missing_kernel. `given` are the call's
// tensors on the device.
[[noreturn]] void rethrow_as_device(const c10::OperatorHandle& op, const c10::Error& error,
                                    Values values, c10::ArrayRef<at::Tensor> given);

// Runs `op` on `arguments` (CPU tensors), those of the narrow dtype promoted; converts results and
// outputs back. Leaves the results on `stack`, without the arguments.
void run_promoted(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                  const std::vector<c10::IValue>& arguments, const DtypePromotion& promotion);

}  // namespace compat::shim::simulate
