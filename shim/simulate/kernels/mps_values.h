// Computations of MPS whose correct results differ from the CPU's: the order of equal elements, and
// rounding between the steps of a graph. A program that relies on the CPU's result breaks on a Mac.
// It imitates neither a Mac's refusals (refusals.h) nor its defects.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string_view>

namespace compat::shim::simulate {

// Runs an op on CPU tensors; leaves its results on the stack in place of its arguments.
using Computation = void (*)(const c10::OperatorHandle& op, torch::jit::Stack& stack);

// The replacement for the CPU's kernel of the op (without "aten::", with the overload), or null.
[[nodiscard]] Computation mps_computation(std::string_view op) noexcept;

}  // namespace compat::shim::simulate
