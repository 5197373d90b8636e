#include "simulate/wider.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <array>
#include <string_view>
#include <utility>

namespace compat::shim::simulate {
namespace {

// Of AT_DISPATCH's macros and of kernels that check by hand.
constexpr std::array<std::string_view, 3> kLacking{"not implemented for '", "not supported on CPU",
                                                   "support for 'Half'"};

c10::ScalarType wider_than(c10::ScalarType narrow) {
    return narrow == c10::ScalarType::ComplexHalf ? c10::ScalarType::ComplexFloat
                                                  : c10::ScalarType::Float;
}

template <class Change>
void change_each(c10::IValue& value, Change change) {
    if (value.isTensor()) {
        value = change(value.toTensor());
    } else if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor& tensor : value.toTensorVector()) list.push_back(change(tensor));
        value = std::move(list);
    }
}

}  // namespace

bool is_narrow(c10::ScalarType dtype) noexcept {
    return dtype == c10::ScalarType::Half || dtype == c10::ScalarType::BFloat16 ||
           dtype == c10::ScalarType::ComplexHalf;
}

bool lacks_dtype(const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    for (const auto part : kLacking)
        if (text.find(part) != std::string_view::npos) return true;
    return false;
}

void run_wider(const c10::OperatorHandle& op, torch::jit::Stack& stack,
               std::vector<c10::IValue> arguments, c10::ScalarType narrow) {
    const c10::ScalarType wide = wider_than(narrow);
    std::vector<std::pair<at::Tensor, at::Tensor>> written;
    const auto& schema = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        c10::IValue& value = arguments[i];
        const bool writes = schema[i].alias_info() && schema[i].alias_info()->isWrite();
        change_each(value, [&](const at::Tensor& tensor) -> at::Tensor {
            if (!tensor.defined() || tensor.scalar_type() != narrow) return tensor;
            at::Tensor wider = tensor.to(wide);
            if (writes) written.emplace_back(tensor, wider);
            return wider;
        });
        if (value.isInt() && schema[i].name() == "dtype" &&
            value.toInt() == static_cast<std::int64_t>(narrow))
            value = static_cast<std::int64_t>(wide);
        stack.push_back(std::move(value));
    }
    op.callBoxed(&stack);
    for (auto& [tensor, wider] : written) {
        if (tensor.sizes() != wider.sizes()) tensor.resize_(wider.sizes());
        tensor.copy_(wider);
    }
    for (std::size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i)
        change_each(stack[i], [&](const at::Tensor& result) -> at::Tensor {
            for (const auto& [tensor, wider] : written)
                if (wider.is_same(result)) return tensor;
            return result.defined() && result.scalar_type() == wide ? result.to(narrow) : result;
        });
}

}  // namespace compat::shim::simulate
