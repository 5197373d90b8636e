// Kernels that CUDA has and the CPU lacks. Fused LSTM and GRU cells run the formulas of
// ATen/native/cuda/RNN.cu, op by op, on the device's tensors. Others are softmax from half to
// single precision, nansum of complex numbers, matrix products with another output dtype, and
// scaled products that are added to a matrix. The query whether cuDNN computes a CTC loss is always
// answered no.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <optional>
#include <tuple>

#include "simulate/cpu_aliases.h"
#include "simulate/kernel.h"
#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

bool there(const MaybeTensor& tensor) { return tensor && tensor->defined(); }

Tensor sum_of(const Tensor& one, const MaybeTensor& other) {
    return there(other) ? one + *other : one;
}

// The workspace holds the activated gates: input, forget, cell, output.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                             const Tensor& cx, const MaybeTensor& input_bias,
                                             const MaybeTensor& hidden_bias) {
    const auto gates =
        sum_of(sum_of(input_gates + hidden_gates, input_bias), hidden_bias).chunk(4, 1);
    const Tensor in = gates[0].sigmoid(), forget = gates[1].sigmoid(), cell = gates[2].tanh(),
                 out = gates[3].sigmoid();
    const Tensor cy = forget * cx + in * cell;
    return {out * cy.tanh(), cy, at::cat({in, forget, cell, out}, 1)};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const MaybeTensor& grad_hy,
                                                      const MaybeTensor& grad_cy, const Tensor& cx,
                                                      const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
    const auto gates = workspace.chunk(4, 1);
    const Tensor &in = gates[0], &forget = gates[1], &cell = gates[2], &out = gates[3];
    const Tensor squashed = cy.tanh();
    const Tensor hy = there(grad_hy) ? *grad_hy : at::zeros_like(cx);
    const Tensor carried = hy * out * (1 - squashed * squashed);
    const Tensor of_cy = there(grad_cy) ? carried + *grad_cy : carried;
    const Tensor grad_gates =
        at::cat({of_cy * cell * in * (1 - in), of_cy * cx * forget * (1 - forget),
                 of_cy * in * (1 - cell * cell), hy * squashed * out * (1 - out)},
                1);
    return {grad_gates, of_cy * forget, has_bias ? grad_gates.sum(0) : Tensor()};
}

// The workspace holds reset, update and new gates, the hidden state, and the new gate's hidden
// part.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates,
                                    const Tensor& hx, const MaybeTensor& input_bias,
                                    const MaybeTensor& hidden_bias) {
    const auto input = sum_of(input_gates, input_bias).chunk(3, 1);
    const auto hidden = sum_of(hidden_gates, hidden_bias).chunk(3, 1);
    const Tensor reset = (input[0] + hidden[0]).sigmoid(),
                 update = (input[1] + hidden[1]).sigmoid(),
                 fresh = (input[2] + reset * hidden[2]).tanh();
    return {fresh + update * (hx - fresh), at::cat({reset, update, fresh, hx, hidden[2]}, 1)};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy,
                                                                     const Tensor& workspace,
                                                                     bool has_bias) {
    const auto parts = workspace.chunk(5, 1);
    const Tensor &reset = parts[0], &update = parts[1], &fresh = parts[2], &hx = parts[3],
                 &hidden = parts[4];
    const Tensor of_fresh = grad_hy * (1 - update) * (1 - fresh * fresh);
    const Tensor of_update = grad_hy * (hx - fresh) * update * (1 - update);
    const Tensor of_reset = of_fresh * hidden * reset * (1 - reset);
    const Tensor input = at::cat({of_reset, of_update, of_fresh}, 1);
    const Tensor hidden_gates = at::cat({of_reset, of_update, of_fresh * reset}, 1);
    return {input, hidden_gates, grad_hy * update, has_bias ? input.sum(0) : Tensor(),
            has_bias ? hidden_gates.sum(0) : Tensor()};
}

template <class Compute>
Tensor on_cpu(const Tensor& one, const Tensor& other, Compute compute) {
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    CpuAliases aliases(one.device());
    const Tensor first = aliases.to_cpu(one), second = aliases.to_cpu(other);
    return aliases.to_device(compute(first, second));
}

Tensor promoted(const Tensor& tensor, bool half_to_float) {
    return half_to_float ? tensor.to(at::kFloat) : tensor;
}

Tensor softmax(const Tensor& self, int64_t dim, bool half_to_float) {
    return on_cpu(self, {}, [&](const Tensor& input, const Tensor&) {
        return at::_softmax(promoted(input, half_to_float), dim, false);
    });
}

Tensor log_softmax(const Tensor& self, int64_t dim, bool half_to_float) {
    return on_cpu(self, {}, [&](const Tensor& input, const Tensor&) {
        return at::_log_softmax(promoted(input, half_to_float), dim, false);
    });
}

Tensor softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim,
                        at::ScalarType input_type) {
    return on_cpu(grad, output, [&](const Tensor& gradient, const Tensor& result) {
        return at::_softmax_backward_data(gradient, result, dim, gradient.scalar_type())
            .to(input_type);
    });
}

Tensor log_softmax_backward(const Tensor& grad, const Tensor& output, int64_t dim,
                            at::ScalarType input_type) {
    return on_cpu(grad, output, [&](const Tensor& gradient, const Tensor& result) {
        return at::_log_softmax_backward_data(gradient, result, dim, gradient.scalar_type())
            .to(input_type);
    });
}

// CUDA's kernel takes complex numbers; the CPU's does not.
Tensor nansum(const Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
              std::optional<at::ScalarType> dtype) {
    if (!self.is_complex())
        return on_cpu(self, {}, [&](const Tensor& input, const Tensor&) {
            return at::nansum(input, dim, keepdim, dtype);
        });
    return at::sum(self.masked_fill(self.isnan(), 0), dim, keepdim, dtype);
}

// ATen/native/cuda/Blas.cpp
void check_out_dtype(const Tensor& self, at::ScalarType out_dtype) {
    const at::ScalarType own = self.scalar_type();
    TORCH_CHECK(
        out_dtype == own || (out_dtype == at::kFloat && (own == at::kHalf || own == at::kBFloat16)),
        "out_dtype must be the same as input dtype or fp32 for fp16/bf16 inputs");
}

void check_out(const Tensor& out, at::ScalarType out_dtype) {
    TORCH_CHECK(out.scalar_type() == out_dtype,
                "out_dtype must be the same as the dtype of the provided out tensor");
}

Tensor mm_dtype(const Tensor& self, const Tensor& other, at::ScalarType out_dtype) {
    check_out_dtype(self, out_dtype);
    return at::mm(self.to(out_dtype), other.to(out_dtype));
}

Tensor& mm_dtype_out(const Tensor& self, const Tensor& other, at::ScalarType out_dtype,
                     Tensor& out) {
    check_out_dtype(self, out_dtype);
    check_out(out, out_dtype);
    return at::mm_out(out, self.to(out_dtype), other.to(out_dtype));
}

Tensor bmm_dtype(const Tensor& self, const Tensor& other, at::ScalarType out_dtype) {
    check_out_dtype(self, out_dtype);
    return at::bmm(self.to(out_dtype), other.to(out_dtype));
}

Tensor& bmm_dtype_out(const Tensor& self, const Tensor& other, at::ScalarType out_dtype,
                      Tensor& out) {
    check_out_dtype(self, out_dtype);
    check_out(out, out_dtype);
    return at::bmm_out(out, self.to(out_dtype), other.to(out_dtype));
}

Tensor addmm_dtype(const Tensor& self, const Tensor& one, const Tensor& other,
                   at::ScalarType out_dtype, const at::Scalar& beta, const at::Scalar& alpha) {
    check_out_dtype(one, out_dtype);
    return at::addmm(self.to(out_dtype), one.to(out_dtype), other.to(out_dtype), beta, alpha);
}

Tensor& addmm_dtype_out(const Tensor& self, const Tensor& one, const Tensor& other,
                        at::ScalarType out_dtype, const at::Scalar& beta, const at::Scalar& alpha,
                        Tensor& out) {
    check_out_dtype(one, out_dtype);
    check_out(out, out_dtype);
    return at::addmm_out(out, self.to(out_dtype), one.to(out_dtype), other.to(out_dtype), beta,
                         alpha);
}

Tensor baddbmm_dtype(const Tensor& self, const Tensor& one, const Tensor& other,
                     at::ScalarType out_dtype, const at::Scalar& beta, const at::Scalar& alpha) {
    check_out_dtype(one, out_dtype);
    return at::baddbmm(self.to(out_dtype), one.to(out_dtype), other.to(out_dtype), beta, alpha);
}

Tensor& baddbmm_dtype_out(const Tensor& self, const Tensor& one, const Tensor& other,
                          at::ScalarType out_dtype, const at::Scalar& beta, const at::Scalar& alpha,
                          Tensor& out) {
    check_out_dtype(one, out_dtype);
    check_out(out, out_dtype);
    return at::baddbmm_out(out, self.to(out_dtype), one.to(out_dtype), other.to(out_dtype), beta,
                           alpha);
}

// beta * self + alpha * the product of mat1 and mat2 with their scales, rounded once:
// _scaled_addmm, which torch has from 2.15 on, and its other forms.
void scaled_addmm(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    static const auto product =
        c10::Dispatcher::singleton().findSchemaOrThrow("aten::_scaled_mm_v2", "");
    const std::size_t count = op.schema().arguments().size();
    const auto given = torch::jit::pop(*stack, count);
    constexpr std::size_t kFirstMatrix = 1, kContraction = 9, kBeta = 10, kAlpha = 11, kFast = 12,
                          kOut = 13;
    torch::jit::Stack call(given.begin() + kFirstMatrix, given.begin() + kContraction);
    torch::jit::push(call, std::nullopt, at::kFloat, given[kContraction], given[kFast]);
    product.callBoxed(&call);
    const Tensor self = given[0].toTensor();
    const at::Scalar beta = given[kBeta].toScalar();
    Tensor sum = call[0].toTensor() * given[kAlpha].toScalar();
    if (beta.toDouble() != 0) sum = sum + self.to(at::kFloat) * beta;
    Tensor result = sum.to(self.scalar_type());
    if (op.schema().is_mutable()) {
        const Tensor out = given.size() > kOut ? given[kOut].toTensor() : self;
        at::native::resize_output(out, result.sizes());
        result = out.copy_(result);
    }
    torch::jit::push(*stack, result);
}

bool never_cudnn(const Tensor&, const Tensor&, at::IntArrayRef, at::IntArrayRef, int64_t) {
    return false;
}

bool never_cudnn_by_tensors(const Tensor&, const Tensor&, const Tensor&, const Tensor&, int64_t) {
    return false;
}

}  // namespace

void add_cuda_kernels(torch::Library& dense) {
    add_checked("_softmax", &softmax);
    add_checked("_log_softmax", &log_softmax);
    add_checked("_softmax_backward_data", &softmax_backward);
    add_checked("_log_softmax_backward_data", &log_softmax_backward);
    dense.impl("mm.dtype", &mm_dtype);
    dense.impl("mm.dtype_out", &mm_dtype_out);
    dense.impl("bmm.dtype", &bmm_dtype);
    dense.impl("bmm.dtype_out", &bmm_dtype_out);
    dense.impl("addmm.dtype", &addmm_dtype);
    dense.impl("addmm.dtype_out", &addmm_dtype_out);
    dense.impl("baddbmm.dtype", &baddbmm_dtype);
    dense.impl("baddbmm.dtype_out", &baddbmm_dtype_out);
    dense.impl("_use_cudnn_ctc_loss", &never_cudnn);
    dense.impl("_use_cudnn_ctc_loss.Tensor", &never_cudnn_by_tensors);
    dense.impl("_use_miopen_ctc_loss", &never_cudnn);
    dense.impl("_use_miopen_ctc_loss.Tensor", &never_cudnn_by_tensors);
    for (const char* name : {"_scaled_addmm", "_scaled_addmm_", "_scaled_addmm.out"})
        add_checked(name, c10::KernelFunction::makeFromBoxedFunction<&scaled_addmm>());
    add_checked("nansum", &nansum);
    add_checked("_thnn_fused_lstm_cell", &lstm_cell);
    dense.impl("_thnn_fused_lstm_cell_backward_impl", &lstm_cell_backward);
    add_checked("_thnn_fused_gru_cell", &gru_cell);
    dense.impl("_thnn_fused_gru_cell_backward", &gru_cell_backward);
    add_lu_kernels(dense);
    add_sync_batch_norm_kernels(dense);
    add_fused_attention(dense);
    add_recurrent_kernels(dense);
}

}  // namespace compat::shim::simulate
