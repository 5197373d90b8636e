// Dtypes that the accelerator computes in and the CPU has no kernel for, computed in a wider one
// and rounded at the end: half precision in single, integers and Bool as the rules say
// (refusals.h). What the device itself would round on the way is not imitated.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>
#include <vector>

namespace compat::shim::simulate {

class Rules;

// From one dtype to another that can stand for it, or to a second where the first has no kernel,
// either.
struct Widening {
    c10::ScalarType narrow, first, second;
    std::string_view keep;  // an argument that stays as it is
};

// Of an op with a tensor of this dtype; null where there is none, or none that upstream computes.
[[nodiscard]] std::optional<Widening> widening(c10::ScalarType dtype, const Rules* rules) noexcept;

// Whether a CPU kernel said that it has none for the dtype, which is before it has written
// anything.
[[nodiscard]] bool lacks_dtype(const c10::Error& error);

// `op` on `arguments`, CPU tensors, with those of the narrow dtype made wider; results, and what
// the op writes, are narrow again. Leaves the results on `stack`, which has none of the arguments.
void run_wider(const c10::OperatorHandle& op, torch::jit::Stack& stack,
               const std::vector<c10::IValue>& arguments, const Widening& widening);

}  // namespace compat::shim::simulate
