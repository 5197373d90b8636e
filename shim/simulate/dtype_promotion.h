// Dtype promotion. Some dtypes the accelerator computes, and the CPU has no kernel for them: those
// are computed in a wider dtype and rounded at the end. Half precision uses single precision;
// integers and Bool follow the rules (refusals.h). Rounding inside the device's kernels is not
// imitated.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>
#include <vector>

namespace compat::shim::simulate {

class Rules;

// From one dtype to a wider one, or to a second if the first has no kernel either.
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

// Throws `error` again with the name of the accelerator's kernel: in `"add_stub" not implemented
// for 'UInt16'`, "add_stub" becomes "add_cuda". Or throws as refuse_missing_kernel does. `given`
// are the call's tensors on the device.
[[noreturn]] void rethrow_as_device(const c10::OperatorHandle& op, const c10::Error& error,
                                    Values values, c10::ArrayRef<at::Tensor> given);

// Runs `op` on `arguments` (CPU tensors) and promotes those of the narrow dtype; converts results
// and outputs back. Leaves the results on `stack`, without the arguments.
void run_promoted(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                  const std::vector<c10::IValue>& arguments, const DtypePromotion& promotion);

}  // namespace compat::shim::simulate
