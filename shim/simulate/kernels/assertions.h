// Assertions in the device's kernels. CPU kernels check the same with errors of their own.
// Assertions are data, as refusals are (mps_refusals.json, cuda_refusals.json). A call without an
// error costs nothing.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/util/Exception.h>

#include <span>
#include <string_view>

namespace compat::shim::simulate {

struct Assertion {
    std::string_view op;    // with the overload
    std::string_view text;  // of the CPU's error; * stands for anything
};

[[nodiscard]] std::span<const Assertion> mps_assertions() noexcept;
[[nodiscard]] std::span<const Assertion> cuda_assertions() noexcept;

// Throws the device's error if `error`, from a CPU kernel, is for an assertion of the device.
void check_asserted(const c10::OperatorHandle& op, const c10::Error& error);

// A CUDA device is lost when a kernel's assertion has failed: until the process ends, every use of
// the device throws. Throws if the device is lost.
void check_not_lost();

}  // namespace compat::shim::simulate
