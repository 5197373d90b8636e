#include "simulate/kernels/zero_division.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <ATen/core/stack.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <utility>

#include "simulate/accelerator.h"

namespace compat::shim::simulate {
namespace {

constexpr std::array<std::string_view, 4> kOps{"div", "floor_divide", "remainder", "fmod"};

at::Tensor tensor_of(const c10::IValue& value) {
    return value.isTensor() ? value.toTensor() : at::scalar_to_tensor(value.toScalar());
}

// Metal's remainder is the dividend. All other results have all bits set, except for 64-bit
// division on CUDA, where non-negative dividends set 32 bits (torch's
// test_fmod_remainder_by_zero_integral).
at::Tensor undefined_result(const at::Tensor& dividend, at::ScalarType dtype, bool remainder) {
    const at::Tensor of = dividend.to(dtype);
    if (accelerator().traits().remainder_is_dividend && remainder) return of.clone();
    const at::Tensor ones = at::full_like(of, dtype == at::kByte ? 255 : -1);
    if (!accelerator().traits().halves_long_quotient || dtype != at::kLong) return ones;
    return at::where(of < 0, ones,
                     static_cast<std::int64_t>(std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

bool divides(std::string_view op) noexcept {
    op = op.substr(0, op.find('.'));
    if (op.ends_with('_')) op.remove_suffix(1);
    return std::ranges::find(kOps, op) != kOps.end();
}

bool divided_by_zero(const c10::Error& error) {
    return std::string_view(error.what_without_backtrace()).find("ZeroDivisionError") !=
           std::string_view::npos;
}

void run_dividing_by_zero(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                          std::vector<c10::IValue> arguments) {
    c10::IValue& other = arguments[1];
    const bool remainder = op.schema().name().find("div") == std::string::npos;
    const at::Tensor zero = tensor_of(other) == 0;
    // An in-place op may overwrite the dividend.
    const at::Tensor dividend = tensor_of(arguments[0]).clone();
    if (other.isTensor())
        other = other.toTensor().masked_fill(zero, 1);
    else
        other = at::Scalar(1);
    for (c10::IValue& each : arguments) stack.push_back(std::move(each));
    op.callBoxed(&stack);
    const at::Tensor result = stack.back().toTensor();
    const at::Tensor left = undefined_result(dividend, result.scalar_type(), remainder);
    result.copy_(at::where(zero, left, result));
}

}  // namespace compat::shim::simulate
