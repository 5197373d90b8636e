// Dtypes that the accelerator computes in and the CPU has no kernel for: half precision, computed
// in single precision and rounded at the end. What the device itself would round on the way is not
// imitated.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <vector>

namespace compat::shim::simulate {

[[nodiscard]] bool is_narrow(c10::ScalarType dtype) noexcept;

// Whether a CPU kernel said that it has none for the dtype, which is before it has written
// anything.
[[nodiscard]] bool lacks_dtype(const c10::Error& error);

// `op` on `arguments`, CPU tensors, with those of dtype `narrow` made wider; results, and what the
// op writes, are `narrow` again. Leaves the results on `stack`.
void run_wider(const c10::OperatorHandle& op, torch::jit::Stack& stack,
               std::vector<c10::IValue> arguments, c10::ScalarType narrow);

}  // namespace compat::shim::simulate
