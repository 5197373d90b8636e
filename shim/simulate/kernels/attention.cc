// Attention of MPS. scaled_dot_product_attention has a path for MPS in builds for macOS alone. If
// no gradient is wanted, it calls a kernel for MPS, which refuses calls that the plain formula
// computes (native/transformers/attention.cpp). This build uses the plain formula for any device,
// so the formula's kernel makes the choice.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "simulate/accelerator.h"
#include "simulate/kernel.h"
#include "simulate/native_kernels.h"
#include "simulate/refusals.h"

// Exported by libtorch_cpu without a public header.
namespace at::native {
TORCH_API std::tuple<Tensor, Tensor> _scaled_dot_product_attention_math(
    const Tensor&, const Tensor&, const Tensor&, const std::optional<Tensor>&, double, bool,
    const std::optional<Tensor>&, std::optional<double>, bool);
}  // namespace at::native

namespace compat::shim::simulate {
namespace {

using at::Tensor;
using Attended = std::tuple<Tensor, Tensor>;

// Its arguments differ between versions of torch: those of the formula, the last not in all.
void mps_attention_kernel(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::size_t count = op.schema().arguments().size();
    const auto given = torch::jit::last(*stack, count).vec();
    begin_kernel();
    check_rules(op, given);
    const Tensor query = given[0].toTensor(), key = given[1].toTensor();
    const Attended result = at::native::_scaled_dot_product_attention_math(
        query, key, given[2].toTensor(), given[3].toOptional<Tensor>(), given[4].toDouble(),
        given[5].toBool(), given[6].toOptional<Tensor>(), given[7].toOptional<double>(),
        /*enable_gqa=*/query.dim() > 2 && key.dim() > 2 && query.size(-3) != key.size(-3));
    torch::jit::drop(*stack, count);
    torch::jit::push(*stack, std::get<0>(result), std::get<1>(result));
}

bool wants_gradient(const Tensor& query, const Tensor& key, const Tensor& value) {
    return c10::GradMode::is_enabled() &&
           (query.requires_grad() || key.requires_grad() || value.requires_grad());
}

Attended mps_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                       const std::optional<Tensor>& mask, double dropout, bool causal,
                       const std::optional<Tensor>& dropped, std::optional<double> scale,
                       bool grouped) {
    if (query.is_nested() || key.is_nested() || value.is_nested() ||
        wants_gradient(query, key, value))
        return at::native::_scaled_dot_product_attention_math(query, key, value, mask, dropout,
                                                              causal, dropped, scale, grouped);
    static const auto own = c10::Dispatcher::singleton().findSchemaOrThrow(
        "aten::_scaled_dot_product_attention_math_for_mps", "");
    torch::jit::Stack stack{query, key, value, mask, dropout, causal, dropped, scale, grouped};
    stack.resize(own.schema().arguments().size());
    own.callBoxed(&stack);
    return {stack[0].toTensor(), stack[1].toTensor()};
}

}  // namespace

void add_attention_kernels(torch::Library& dense) {
    dense.impl("_scaled_dot_product_attention_math_for_mps",
               torch::CppFunction::makeFromBoxedFunction<&mps_attention_kernel>());
    dense.impl("_scaled_dot_product_attention_math", &mps_attention);
    auto* autograd = new torch::Library(torch::Library::IMPL, "aten", accelerator().keys().autograd,
                                        __FILE__, __LINE__);
    autograd->impl("_scaled_dot_product_attention_math", &mps_attention);
}

}  // namespace compat::shim::simulate
