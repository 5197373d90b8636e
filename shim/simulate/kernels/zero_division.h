// Integer division by zero: the CPU's kernels raise, and a GPU's do not. A GPU's results are
// undefined; ours are those that a GPU was seen to return.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>
#include <vector>

namespace compat::shim::simulate {

// Whether the op (without "aten::") divides integers.
[[nodiscard]] bool divides(std::string_view op) noexcept;

// Whether a CPU kernel found a divisor of zero.
[[nodiscard]] bool divided_by_zero(const c10::Error& error);

// Runs `op` on `arguments` (CPU tensors) with one in place of each zero divisor, then writes the
// device's results for those. Leaves the results on `stack`, without the arguments.
void run_dividing_by_zero(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                          std::vector<c10::IValue> arguments);

}  // namespace compat::shim::simulate
