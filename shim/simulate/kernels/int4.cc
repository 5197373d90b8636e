// Matrix products with weights of four bits, which CUDA and MPS have and the CPU has under other
// names. The packed form is opaque to programs. Ours has the device's shape and keeps the bytes in
// order.
#include <ATen/ATen.h>
#include <torch/library.h>

#include <string_view>

#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;

constexpr std::string_view kPack = "_convert_weight_to_int4pack";

// aten/src/ATen/native/mps/operations/Quantized.mm, native/cuda/int4mm.cu
Tensor pack(const Tensor& weights, int64_t inner_k_tiles) {
    TORCH_CHECK(weights.dim() == 2, kPack, " : expect weight to be 2D tensor.");
    TORCH_CHECK(weights.scalar_type() == at::kByte, kPack, " : expect weight to be kByte.");
    TORCH_CHECK(inner_k_tiles == 2 || inner_k_tiles == 4 || inner_k_tiles == 8, __func__,
                " : innerKTiles need to be 2, 4, or 8, got ", inner_k_tiles);
    const int64_t rows = weights.size(0), columns = weights.size(1) * 2;
    TORCH_CHECK(rows % 8 == 0 && columns % (inner_k_tiles * 16) == 0, __func__,
                " : expect sizes to be multiples of 8 and of ", inner_k_tiles * 16);
    return weights.contiguous()
        .view(at::kInt)
        .reshape({rows / 8, columns / (inner_k_tiles * 16), 32, inner_k_tiles / 2})
        .clone();
}

// Two weights a byte, the first in its upper half; each group of columns has a scale and a zero.
Tensor product(const Tensor& input, const Tensor& packed, int64_t group, const Tensor& scales) {
    TORCH_CHECK(input.dim() == 2 && packed.dim() == 4,
                "_weight_int4pack_mm : expect a 2D input and packed weights of 4 dimensions");
    const int64_t rows = packed.size(0) * 8, columns = input.size(1);
    const Tensor bytes = packed.contiguous().view(at::kByte).reshape({rows, columns / 2});
    const Tensor weights = at::stack({at::floor_divide(bytes, 16), at::remainder(bytes, 16)}, -1)
                               .reshape({rows, columns / group, group})
                               .to(at::kFloat);
    const Tensor each = scales.to(at::kFloat).permute({1, 0, 2}).unsqueeze(2);
    const Tensor dequantized = (weights - 8) * each.select(-1, 0) + each.select(-1, 1);
    return at::mm(input.to(at::kFloat), dequantized.reshape({rows, columns}).t())
        .to(input.scalar_type());
}

}  // namespace

void add_int4_kernels(torch::Library& dense) {
    dense.impl("_convert_weight_to_int4pack", &pack);
    dense.impl("_weight_int4pack_mm", &product);
}

}  // namespace compat::shim::simulate
