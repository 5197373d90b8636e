// Which back ends torch has kernels for, operator by operator, from native_functions.yaml, which
// the torch wheel carries (torchgen/packaged/ATen/native). Pure. Not for what an operator does at
// run time: a kernel may be there and refuse a dtype (that is seen in runs).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"

namespace compat::analysis {

struct Operator {
    std::string name;  // with its overload: "add.Tensor"
    bool cuda = false;
    bool mps = false;
    // Built of other operators: it runs wherever those do.
    bool composite = false;
};

// As torchgen reads the file (torchgen/model.py, NativeFunction.from_yaml): without a dispatch
// section an operator is composite; one that delegates to a structured operator has its kernels.
// Errors: environment, for text that is no such file, naming its line.
[[nodiscard]] Expected<std::vector<Operator>> operators_of(std::string_view yaml);

// "aten::add": the name that torch's messages and recordings have, with or without overload.
[[nodiscard]] std::string qualified(const Operator& op);

}  // namespace compat::analysis
