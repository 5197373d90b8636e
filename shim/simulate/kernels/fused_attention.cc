// Fused attention of CUDA: flash and memory-efficient, with their log-sum-exp, which ring attention
// (context parallel) merges between devices. scaled_dot_product_attention takes them where CUDA's
// would. The CPU's fused kernel computes them, or the plain formula for calls that this kernel does
// not take. The formula also computes calls with dropout, with groups of heads, and those for which
// CUDA takes cuDNN's kernel. Its result has the layout of a fused kernel's.
#include <ATen/ATen.h>
#include <ATen/native/transformers/attention.h>
#include <c10/core/GradMode.h>
#include <torch/library.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>

#include "runtime/torch_version.h"
#include "simulate/cpu_aliases.h"
#include "simulate/kernel.h"
#include "simulate/kernels/attention_choice.h"
#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

// CUDA's fused kernels allocate results and gradients as (batch, sequence, heads, width) and return
// them transposed. So out.transpose(1, 2).view(batch, sequence, -1) works.
Tensor heads_innermost(const Tensor& out) {
    return out.transpose(1, 2).contiguous().transpose(1, 2);
}

bool given(const MaybeTensor& tensor) { return tensor && tensor->defined(); }

// Flash attention computes heads of 8, 16, 24 … values: scaled_dot_product_attention pads others
// with zeros, which change no score (ATen/native/transformers/attention.cpp).
Tensor padded_to_eights(const Tensor& tensor) {
    const std::int64_t over = tensor.size(-1) % 8;
    return over == 0 ? tensor : at::constant_pad_nd(tensor, {0, 8 - over});
}

// Warns once for each kernel, as its backward does
// (ATen/native/transformers/cuda/attention_backward.cu).
void warn_of_order(bool is_flash) {
    auto& context = at::globalContext();
    if (!context.deterministicAlgorithms() || !context.deterministicAlgorithmsWarnOnly()) return;
    constexpr std::string_view kRest =
        " defaults to a non-deterministic algorithm. To explicitly enable determinism call "
        "torch.use_deterministic_algorithms(True, warn_only=False).";
    if (is_flash) {
        TORCH_WARN_ONCE("Flash Attention", kRest);
    } else {
        TORCH_WARN_ONCE("Memory Efficient attention", kRest);
    }
}

struct Scores {
    Tensor values;  // scaled, masked, in single precision or more
    double scale;
};

Tensor single(const Tensor& tensor) {
    return at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

Scores scores_of(const Tensor& query, const Tensor& key, const MaybeTensor& bias, bool causal,
                 std::optional<double> scale) {
    const double factor = scale.value_or(1 / std::sqrt(static_cast<double>(query.size(-1))));
    Tensor values = at::matmul(single(query), single(key).transpose(-2, -1)) * factor;
    if (given(bias)) values = values + single(*bias);
    if (causal) {
        const Tensor seen =
            at::ones({query.size(-2), key.size(-2)}, query.options().dtype(at::kBool)).tril();
        values = values.masked_fill(seen.logical_not(), -INFINITY);
    }
    return {values, factor};
}

// Whether the CPU's fused kernel takes these tensors, which CUDA's take.
bool cpu_takes(const Tensor& query, const Tensor& key, const Tensor& value, const MaybeTensor& bias,
               double dropout) {
    const auto dense = [](const Tensor& tensor) {
        return tensor.numel() > 0 && tensor.stride(-1) == 1;
    };
    return dropout == 0 && dense(query) && dense(key) && dense(value) &&
           (!given(bias) || (bias->numel() > 0 && (bias->dim() == 2 || bias->dim() == 4)));
}

// CPU tensors over the same memory, for one call, below autograd.
class OnCpu {
  public:
    explicit OnCpu(c10::Device device) : aliases_(device) { begin_kernel(); }

    [[nodiscard]] Tensor operator()(const Tensor& tensor) { return aliases_.to_cpu(tensor); }
    [[nodiscard]] MaybeTensor operator()(const MaybeTensor& tensor) {
        return given(tensor) ? MaybeTensor(aliases_.to_cpu(*tensor)) : std::nullopt;
    }
    [[nodiscard]] Tensor result(const Tensor& tensor) { return aliases_.to_device(tensor); }

  private:
    const at::AutoDispatchBelowADInplaceOrView below_autograd_;
    CpuAliases aliases_;
};

std::tuple<Tensor, Tensor> attend(const Tensor& query, const Tensor& key, const Tensor& value,
                                  const MaybeTensor& bias, double dropout, bool causal,
                                  std::optional<double> scale) {
    if (cpu_takes(query, key, value, bias, dropout)) {
        OnCpu cpu(query.device());
        const auto [out, logsumexp] = at::_scaled_dot_product_flash_attention_for_cpu(
            cpu(query), cpu(key), cpu(value), dropout, causal, cpu(bias), scale);
        return {cpu.result(out), cpu.result(logsumexp)};
    }
    const Scores scores = scores_of(query, key, bias, causal, scale);
    const Tensor logsumexp = scores.values.logsumexp(-1);
    Tensor weights = (scores.values - logsumexp.unsqueeze(-1)).exp();
    if (dropout > 0) weights = at::dropout(weights, dropout, true);
    const Tensor out = at::matmul(weights, single(value)).to(query.scalar_type());
    return {heads_innermost(out), logsumexp.to(at::kFloat)};
}

// The last result is the scores' gradient, if `of_bias`.
std::tuple<Tensor, Tensor, Tensor, Tensor> attend_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const MaybeTensor& bias, const Tensor& out, const Tensor& logsumexp, double dropout,
    bool causal, std::optional<double> scale, bool of_bias = false) {
    TORCH_CHECK_NOT_IMPLEMENTED(dropout == 0,
                                "aten::_scaled_dot_product_attention_backward(dropout_p) is not "
                                "simulated: the mask that was drawn is not kept; "
                                "sdpa_kernel(SDPBackend.MATH) computes it");
    if (!of_bias && cpu_takes(query, key, value, bias, dropout)) {
        OnCpu cpu(query.device());
        const auto [dq, dk, dv] = at::_scaled_dot_product_flash_attention_for_cpu_backward(
            cpu(grad), cpu(query), cpu(key), cpu(value), cpu(out), cpu(logsumexp), dropout, causal,
            cpu(bias), scale);
        return {cpu.result(dq), cpu.result(dk), cpu.result(dv), Tensor()};
    }
    const Scores scores = scores_of(query, key, bias, causal, scale);
    const Tensor weights = (scores.values - logsumexp.unsqueeze(-1)).exp();
    const Tensor of_out = single(grad);
    const Tensor of_weights = at::matmul(of_out, single(value).transpose(-2, -1));
    const Tensor of_scores = weights * (of_weights - (of_out * single(out)).sum(-1, true));
    const Tensor dq = at::matmul(of_scores, single(key)) * scores.scale;
    const Tensor dk = at::matmul(of_scores.transpose(-2, -1), single(query)) * scores.scale;
    const Tensor dv = at::matmul(weights.transpose(-2, -1), of_out);
    return {heads_innermost(dq.to(query.scalar_type())), heads_innermost(dk.to(key.scalar_type())),
            heads_innermost(dv.to(value.scalar_type())), of_scores};
}

using Flash =
    std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

Flash flash(const Tensor& query, const Tensor& key, const Tensor& value, double dropout,
            bool causal, bool /*debug*/, std::optional<double> scale) {
    const auto [out, logsumexp] = attend(query, key, value, {}, dropout, causal, scale);
    const Tensor state = at::empty({2}, query.options().dtype(at::kLong));
    return {out,
            logsumexp,
            Tensor(),
            Tensor(),
            query.size(-2),
            key.size(-2),
            state,
            at::empty({}, query.options().dtype(at::kLong)),
            at::empty({0}, query.options())};
}

std::tuple<Tensor, Tensor, Tensor> flash_backward(const Tensor& grad, const Tensor& query,
                                                  const Tensor& key, const Tensor& value,
                                                  const Tensor& out, const Tensor& logsumexp,
                                                  const Tensor&, const Tensor&, c10::SymInt,
                                                  c10::SymInt, double dropout, bool causal,
                                                  const Tensor&, const Tensor&,
                                                  std::optional<double> scale) {
    warn_of_order(/*is_flash=*/true);
    const auto [dq, dk, dv, unused] =
        attend_backward(grad, query, key, value, {}, out, logsumexp, dropout, causal, scale);
    return {dq, dk, dv};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient(const Tensor& query, const Tensor& key,
                                                     const Tensor& value, const MaybeTensor& bias,
                                                     bool with_logsumexp, double dropout,
                                                     bool causal, std::optional<double> scale) {
    TORCH_CHECK(!given(bias) || bias->scalar_type() == query.scalar_type(),
                "invalid dtype for bias - should match query's dtype");
    auto [out, logsumexp] = attend(query, key, value, bias, dropout, causal, scale);
    if (!with_logsumexp) logsumexp = logsumexp.narrow(-1, 0, 0);
    const Tensor seed = at::empty({}, query.options().dtype(at::kLong));
    return {out, logsumexp, seed, seed.clone()};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> efficient_backward(
    const Tensor& grad, const Tensor& query, const Tensor& key, const Tensor& value,
    const Tensor& bias, const Tensor& out, const Tensor& logsumexp, const Tensor&, const Tensor&,
    double dropout, std::array<bool, 4> wanted, bool causal, std::optional<double> scale) {
    if (!grad.defined()) return {};
    warn_of_order(/*is_flash=*/false);
    const bool biased = wanted[3] && bias.defined();
    auto [dq, dk, dv, scores] = attend_backward(grad, query, key, value, bias, out, logsumexp,
                                                dropout, causal, scale, biased);
    Tensor of_bias;
    if (biased) of_bias = at::sum_to(scores, bias.sizes()).to(bias.scalar_type());
    return {dq, dk, dv, of_bias};
}

// From torch 2.14 on, fused kernels take tensors without a batch.
bool lack_batch(const Tensor& query, const Tensor& key, const Tensor& value) {
    return !COMPAT_TORCH_BEFORE(2, 14) && !query.is_nested() && query.dim() == 3 &&
           key.dim() == 3 && value.dim() == 3;
}

MaybeTensor in_batch(const MaybeTensor& mask) {
    return given(mask) && mask->dim() == 3 ? mask->unsqueeze(0) : mask;
}

int64_t fused_choice(const Tensor& query, const Tensor& key, const Tensor& value,
                     const MaybeTensor& mask, double dropout, bool causal, std::optional<double>,
                     bool grouped) {
    const bool lacking = lack_batch(query, key, value);
    const auto four = [&](const Tensor& each) { return lacking ? each.unsqueeze(0) : each; };
    return static_cast<int64_t>(
        chosen_attention({four(query), four(key), four(value), lacking ? in_batch(mask) : mask,
                          dropout, causal, grouped}));
}

}  // namespace

Tensor cuda_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const MaybeTensor& bias, double dropout, bool causal,
                      std::optional<double> scale, bool grouped) {
    if (lack_batch(query, key, value))
        return cuda_attention(query.unsqueeze(0), key.unsqueeze(0), value.unsqueeze(0),
                              in_batch(bias), dropout, causal, scale, grouped)
            .squeeze(0);
    const auto backend = chosen_attention({query, key, value, bias, dropout, causal, grouped});
    const bool simulated = dropout == 0 && !grouped && !query.is_nested();
    if (simulated && backend == sdp::SDPBackend::flash_attention) {
        const std::int64_t width = query.size(-1);
        const Tensor out = std::get<0>(at::_scaled_dot_product_flash_attention(
            padded_to_eights(query), padded_to_eights(key), padded_to_eights(value), dropout,
            causal, false, scale.value_or(1 / std::sqrt(static_cast<double>(width)))));
        return out.size(-1) == width ? out : out.narrow(-1, 0, width);
    }
    if (simulated && backend == sdp::SDPBackend::efficient_attention)
        return std::get<0>(at::_scaled_dot_product_efficient_attention(
            query, key, value, bias, c10::GradMode::is_enabled(), dropout, causal, scale));
    // The fused kernels take nested tensors in any layout, the formula contiguous ones.
    const bool rearranged = query.is_nested() && backend != sdp::SDPBackend::math;
    const auto arranged = [&](const Tensor& each) { return rearranged ? each.contiguous() : each; };
    const Tensor out = std::get<0>(at::_scaled_dot_product_attention_math(
        arranged(query), arranged(key), arranged(value), bias, dropout, causal, std::nullopt, scale,
        grouped));
    const bool plain = backend == sdp::SDPBackend::math || query.is_nested();
    return plain ? out : heads_innermost(out);
}

void add_fused_attention(torch::Library& dense) {
    dense.impl("_fused_sdp_choice", &fused_choice);
    // Kernels for meta and fake tensors call it without the dispatcher.
    at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&fused_choice);
    add_checked("_scaled_dot_product_flash_attention", &flash);
    dense.impl("_scaled_dot_product_flash_attention_backward", &flash_backward);
    add_checked("_scaled_dot_product_efficient_attention", &efficient);
    dense.impl("_scaled_dot_product_efficient_attention_backward", &efficient_backward);
}

}  // namespace compat::shim::simulate
