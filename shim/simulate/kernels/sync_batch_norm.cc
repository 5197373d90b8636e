// The steps of SyncBatchNorm, a batch normalization whose statistics several devices share. CUDA
// has their kernels and the CPU lacks them. These run the formulas of
// ATen/native/cuda/Normalization.cuh, op by op, on the device's tensors. Channels are the second
// dimension.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

bool is_given(const MaybeTensor& tensor) { return tensor && tensor->defined(); }

// Half precision is summed in single precision.
Tensor accumulated(const Tensor& tensor) {
    return at::isReducedFloatingType(tensor.scalar_type()) ? tensor.to(at::kFloat) : tensor;
}

std::vector<std::int64_t> all_but_channels(const Tensor& input) {
    std::vector<std::int64_t> dimensions;
    for (std::int64_t d = 0; d < input.dim(); ++d)
        if (d != 1) dimensions.push_back(d);
    return dimensions;
}

// One value for each channel, in a shape that broadcasts over `input`.
Tensor by_channel(const Tensor& values, const Tensor& input) {
    std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
    shape[1] = input.size(1);
    return accumulated(values).view(shape);
}

std::tuple<Tensor, Tensor> stats(const Tensor& input, double eps) {
    const Tensor values = accumulated(input);
    const auto dimensions = all_but_channels(input);
    return {values.mean(dimensions), (values.var(dimensions, false) + eps).rsqrt()};
}

Tensor elemt(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
             const Tensor& mean, const Tensor& invstd, double /*eps*/) {
    Tensor out = (accumulated(input) - by_channel(mean, input)) * by_channel(invstd, input);
    if (is_given(weight)) out = out * by_channel(*weight, input);
    if (is_given(bias)) out = out + by_channel(*bias, input);
    return out.to(input.scalar_type());
}

Tensor& elemt_out(const Tensor& input, const MaybeTensor& weight, const MaybeTensor& bias,
                  const Tensor& mean, const Tensor& invstd, double eps, Tensor& out) {
    return out.copy_(elemt(input, weight, bias, mean, invstd, eps));
}

// `mean` and `invstd` have a row for each device, `counts` the device's elements in a channel.
std::tuple<Tensor, Tensor> gather_stats_with_counts(const Tensor& /*input*/, const Tensor& mean,
                                                    const Tensor& invstd,
                                                    const MaybeTensor& running_mean,
                                                    const MaybeTensor& running_var, double momentum,
                                                    double eps, const Tensor& counts) {
    const Tensor weights = counts.to(mean.scalar_type()).reshape({-1, 1});
    const Tensor total = weights.sum();
    const Tensor all = (mean * weights).sum(0) / total;
    const Tensor variances = invstd.pow(-2) - eps;
    const Tensor squares = ((variances + (mean - all).pow(2)) * weights).sum(0);
    if (is_given(running_mean)) {
        Tensor running = *running_mean;
        running.mul_(1 - momentum).add_(all.to(running.scalar_type()), momentum);
    }
    if (is_given(running_var)) {
        Tensor running = *running_var;
        const Tensor unbiased = squares / (total - 1);
        running.mul_(1 - momentum).add_(unbiased.to(running.scalar_type()), momentum);
    }
    return {all, (squares / total + eps).rsqrt()};
}

std::tuple<Tensor, Tensor> gather_stats(const Tensor& input, const Tensor& mean,
                                        const Tensor& invstd, const MaybeTensor& running_mean,
                                        const MaybeTensor& running_var, double momentum, double eps,
                                        std::int64_t count) {
    return gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps,
                                    at::full({mean.size(0)}, count, mean.options()));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> backward_reduce(const Tensor& grad, const Tensor& input,
                                                           const Tensor& mean, const Tensor& invstd,
                                                           const MaybeTensor& weight, bool input_g,
                                                           bool weight_g, bool bias_g) {
    const auto dimensions = all_but_channels(input);
    const Tensor dy = accumulated(grad);
    const Tensor sum_dy = dy.sum(dimensions);
    const Tensor sum_dy_xmu = (dy * (accumulated(input) - by_channel(mean, input))).sum(dimensions);
    const auto as_weight = [&](const Tensor& sums) {
        return is_given(weight) ? sums.to(weight->scalar_type()) : sums;
    };
    return {input_g ? sum_dy : Tensor(), input_g ? sum_dy_xmu : Tensor(),
            weight_g ? as_weight(sum_dy_xmu * invstd) : Tensor(),
            bias_g ? as_weight(sum_dy) : Tensor()};
}

Tensor backward_elemt(const Tensor& grad, const Tensor& input, const Tensor& mean,
                      const Tensor& invstd, const MaybeTensor& weight, const Tensor& sum_dy,
                      const Tensor& sum_dy_xmu, const Tensor& counts) {
    const Tensor total = counts.sum().to(invstd.scalar_type());
    const Tensor scale =
        by_channel(is_given(weight) ? invstd * accumulated(*weight) : invstd, input);
    const Tensor centred = accumulated(input) - by_channel(mean, input);
    const Tensor slope = by_channel(invstd.pow(2) * sum_dy_xmu / total, input);
    return ((accumulated(grad) - by_channel(sum_dy / total, input) - centred * slope) * scale)
        .to(input.scalar_type());
}

}  // namespace

void add_sync_batch_norm_kernels(torch::Library& dense) {
    dense.impl("batch_norm_stats", &stats);
    dense.impl("batch_norm_elemt", &elemt);
    dense.impl("batch_norm_elemt.out", &elemt_out);
    dense.impl("batch_norm_gather_stats", &gather_stats);
    dense.impl("batch_norm_gather_stats_with_counts", &gather_stats_with_counts);
    dense.impl("batch_norm_backward_reduce", &backward_reduce);
    dense.impl("batch_norm_backward_elemt", &backward_elemt);
}

}  // namespace compat::shim::simulate
