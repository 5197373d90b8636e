// Matrix products with weights of four bits, which the CPU has under other names. The packed form
// is opaque to programs. Ours has the device's shape and keeps the bytes in order.
#include <ATen/ATen.h>

#include <string_view>

#include "simulate/accelerator.h"
#include "simulate/kernel.h"
#include "simulate/native_kernels.h"

namespace compat::shim::simulate {
namespace {

using at::Tensor;

constexpr std::string_view kPack = "_convert_weight_to_int4pack";

// aten/src/ATen/native/mps/operations/Quantized.mm; CUDA's checks are in cuda_refusals.json.
void check_for_mps(const Tensor& weights, int64_t inner_k_tiles) {
    TORCH_CHECK(weights.dim() == 2, kPack, " : expect weight to be 2D tensor.");
    TORCH_CHECK(weights.scalar_type() == at::kByte, kPack, " : expect weight to be kByte.");
    TORCH_CHECK(inner_k_tiles == 2 || inner_k_tiles == 4 || inner_k_tiles == 8, kPack,
                "_mps : innerKTiles need to be 2, 4, or 8, got ", inner_k_tiles);
    TORCH_CHECK(weights.size(0) % 8 == 0 && weights.size(1) * 2 % (inner_k_tiles * 16) == 0, kPack,
                "_mps : expect sizes to be multiples of 8 and of ", inner_k_tiles * 16);
}

Tensor pack(const Tensor& weights, int64_t inner_k_tiles) {
    constexpr int64_t kRows = 8;
    if (accelerator().traits().checks_int4) check_for_mps(weights, inner_k_tiles);
    const int64_t columns = weights.size(1) * 2, beyond = weights.size(0) % kRows;
    const Tensor whole =
        beyond == 0 ? weights : at::constant_pad_nd(weights, {0, 0, 0, kRows - beyond});
    return whole.contiguous()
        .view(at::kInt)
        .reshape({whole.size(0) / kRows, columns / (inner_k_tiles * 16), 32, inner_k_tiles / 2})
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

void add_int4_kernels() {
    add_checked("_convert_weight_to_int4pack", &pack);
    add_checked("_weight_int4pack_mm", &product);
}

}  // namespace compat::shim::simulate
