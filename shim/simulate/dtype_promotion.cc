#include "simulate/dtype_promotion.h"

#include <ATen/ATen.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "simulate/accelerator.h"
#include "simulate/refusals.h"
#include "simulate/tensors_of.h"

namespace compat::shim::simulate {
namespace {

// Texts of AT_DISPATCH's macros and of kernels that check themselves.
constexpr std::array<std::string_view, 5> kLacking{
    "not implemented for '", "not supported on CPU", "support for 'Half'",
    "Boolean inputs not supported", "MKL FFT doesn't support tensors of type"};

constexpr std::string_view kOnCpu = " on CPU", kNotImplemented = "\" not implemented for '",
                           kComputationOnCpu = "computation on CPU";

// Half precision is real or complex; one op can have both.
c10::ScalarType counterpart(c10::ScalarType dtype, c10::ScalarType narrow, c10::ScalarType wide) {
    if (dtype == narrow) return wide;
    const bool half = narrow == c10::ScalarType::Half || narrow == c10::ScalarType::ComplexHalf;
    if (half && dtype == c10::ScalarType::Half) return c10::ScalarType::Float;
    if (half && dtype == c10::ScalarType::ComplexHalf) return c10::ScalarType::ComplexFloat;
    return dtype;
}

// Whether an argument is a list of optional tensors.
bool optional_items(const c10::Argument& argument) {
    const auto list = argument.type()->cast<c10::ListType>();
    return list && list->getElementType()->kind() == c10::TypeKind::OptionalType;
}

void run_through(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                 std::vector<c10::IValue> arguments, const DtypePromotion& promotion,
                 c10::ScalarType wide) {
    const c10::ScalarType narrow = promotion.narrow;
    std::vector<std::pair<at::Tensor, at::Tensor>> written;
    const auto& schema = op.schema().arguments();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        c10::IValue& value = arguments[i];
        const bool writes = schema[i].alias_info() && schema[i].alias_info()->isWrite();
        if (schema[i].name() != promotion.keep)
            change_tensors(value, optional_items(schema[i]), [&](const at::Tensor& tensor, auto) {
                const auto dtype = counterpart(tensor.scalar_type(), narrow, wide);
                if (dtype == tensor.scalar_type()) return tensor;
                const bool real = tensor.is_complex() && !c10::isComplexType(dtype);
                at::Tensor promoted = (real ? at::real(tensor) : tensor).to(dtype, false, true);
                if (writes) written.emplace_back(tensor, promoted);
                return promoted;
            });
        if (value.isInt() && schema[i].name() == "dtype" &&
            value.toInt() == static_cast<std::int64_t>(narrow))
            value = static_cast<std::int64_t>(wide);
        stack.push_back(std::move(value));
    }
    op.callBoxed(&stack);
    for (auto& [tensor, promoted] : written) {
        if (tensor.sizes() != promoted.sizes()) tensor.resize_(promoted.sizes());
        tensor.copy_(promoted);
    }
    const bool half = narrow == c10::ScalarType::Half;
    for (std::size_t i = stack.size() - op.schema().returns().size(); i < stack.size(); ++i)
        change_tensors(stack[i], false, [&](const at::Tensor& result, auto) {
            for (const auto& [tensor, promoted] : written)
                if (promoted.is_same(result)) return tensor;
            if (result.scalar_type() == wide) return result.to(narrow);
            if (half && result.scalar_type() == c10::ScalarType::ComplexFloat)
                return result.to(c10::ScalarType::ComplexHalf);
            if (c10::isComplexType(narrow) && result.scalar_type() == c10::toRealValueType(wide))
                return result.to(c10::toRealValueType(narrow));
            return result;
        });
}

}  // namespace

std::optional<DtypePromotion> promotion(c10::ScalarType dtype, const Rules* rules) noexcept {
    switch (dtype) {
        case c10::ScalarType::Half:
        case c10::ScalarType::BFloat16:
            return DtypePromotion{dtype, c10::ScalarType::Float, c10::ScalarType::Float, {}};
        case c10::ScalarType::ComplexHalf:
            return DtypePromotion{
                dtype, c10::ScalarType::ComplexFloat, c10::ScalarType::ComplexFloat, {}};
        default:
            break;
    }
    const Computed* row = rules ? rules->computed(dtype) : nullptr;
    if (!row) return std::nullopt;
    return DtypePromotion{dtype, row->first, row->second, row->keep};
}

bool lacks_dtype(const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    for (const auto part : kLacking)
        if (text.find(part) != std::string_view::npos) return true;
    return false;
}

bool names_the_cpu(const c10::Error& error) {
    const std::string_view text = error.what_without_backtrace();
    return (text.starts_with('"') && text.find(kNotImplemented) != std::string_view::npos) ||
           (text.ends_with(kOnCpu) && text.find("dtype") != std::string_view::npos) ||
           text.find(kComputationOnCpu) != std::string_view::npos;
}

void rethrow_as_device(const c10::OperatorHandle& op, const c10::Error& error, Values values,
                       c10::ArrayRef<at::Tensor> given) {
    const std::string device = c10::DeviceTypeName(accelerator().type(), /*lower_case=*/true);
    std::string text = error.what_without_backtrace();
    if (const auto end = text.find(kNotImplemented);
        text.starts_with('"') && end != std::string::npos) {
        std::string_view dtype = std::string_view(text).substr(end + kNotImplemented.size());
        refuse_missing_kernel(op, values, given, dtype.substr(0, dtype.find('\'')));
        std::string name(dispatch_name(op));
        if (name.empty()) {
            name = op.schema().name().substr(std::string_view("aten::").size());
            if (name.ends_with('_')) name.pop_back();
            name += "_" + device;
        }
        text.replace(1, end - 1, name);
    } else if (text.ends_with(kOnCpu)) {
        text.replace(text.size() - kOnCpu.size(), kOnCpu.size(),
                     " on " + c10::DeviceTypeName(accelerator().type()));
    } else if (const auto at = text.find(kComputationOnCpu); at != std::string::npos) {
        text.replace(at, kComputationOnCpu.size(),
                     std::string("computation on ") + c10::DeviceTypeName(accelerator().type()));
    }
    if (dynamic_cast<const c10::NotImplementedError*>(&error))
        TORCH_CHECK_NOT_IMPLEMENTED(false, text);
    TORCH_CHECK(false, text);
    std::abort();
}

void run_promoted(const c10::OperatorHandle& op, torch::jit::Stack& stack,
                  const std::vector<c10::IValue>& arguments, const DtypePromotion& promotion) {
    const std::size_t base = stack.size();
    try {
        return run_through(op, stack, arguments, promotion, promotion.first);
    } catch (const c10::Error& error) {
        if (promotion.first == promotion.second || !lacks_dtype(error)) throw;
    }
    stack.resize(base);
    run_through(op, stack, arguments, promotion, promotion.second);
}

}  // namespace compat::shim::simulate
