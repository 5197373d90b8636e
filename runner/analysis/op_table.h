// The back ends for which each operator of torch has a kernel, from native_functions.yaml of the
// torch wheel (torchgen/packaged/ATen/native). Pure. Not for run time: a kernel may refuse a dtype.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/device_kind.h"
#include "runner/base/error.h"

namespace compat::analysis {

struct Operator {
    std::string name;                            // with its overload: "add.Tensor"
    std::bitset<kDeviceKinds.size()> kernels{};  // by row of the table of devices
    bool composite = false;                      // made of other operators: runs wherever they do

    [[nodiscard]] bool has_kernel(const DeviceKind& device) const {
        return kernels[static_cast<std::size_t>(&device - kDeviceKinds.data())];
    }
};

// As torchgen reads the file (torchgen/model.py, NativeFunction.from_yaml): without a dispatch
// section an operator is composite; one that delegates to a structured operator has its kernels.
// Errors: environment, for other text, naming the line.
[[nodiscard]] Expected<std::vector<Operator>> operators_of(std::string_view yaml);

// "aten::add", as in torch's messages, with the overload if it has one.
[[nodiscard]] std::string qualified(const Operator& op);

}  // namespace compat::analysis
