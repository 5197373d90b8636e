#include "simulate/nccl/host.h"

#include <ATen/Functions.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <string>

namespace compat::shim::simulate {
namespace {

using c10::ScalarType;
using c10d::ReduceOp;

// NCCL moves 8-bit floats. Since 2.24 it also reduces these two.
constexpr std::array kDtypes{ScalarType::Bool,           ScalarType::Byte,
                             ScalarType::Char,           ScalarType::Int,
                             ScalarType::Long,           ScalarType::Half,
                             ScalarType::BFloat16,       ScalarType::Float,
                             ScalarType::Double,         ScalarType::Float8_e5m2,
                             ScalarType::Float8_e4m3fn,  ScalarType::Float8_e5m2fnuz,
                             ScalarType::Float8_e4m3fnuz};
constexpr std::array kOnlyMoved{ScalarType::Float8_e5m2fnuz, ScalarType::Float8_e4m3fnuz};

template <std::size_t N>
bool has(const std::array<ScalarType, N>& all, ScalarType dtype) {
    return std::find(all.begin(), all.end(), dtype) != all.end();
}

// The dtype in which reductions compute.
ScalarType wide(ScalarType dtype) {
    if (dtype == ScalarType::Bool) return ScalarType::Byte;
    return c10::isFloatingType(dtype) && c10::elementSize(dtype) < 4 ? ScalarType::Float : dtype;
}

// NCCL's fminf and fmaxf ignore a NaN if another rank has a number.
at::Tensor without_nans(const at::Tensor& rows,
                        at::Tensor (*pick)(const at::Tensor&, const at::Tensor&)) {
    at::Tensor all = rows[0];
    for (std::int64_t rank = 1; rank < rows.size(0); ++rank) all = pick(all, rows[rank]);
    return all;
}

}  // namespace

at::Tensor host_view(const at::Tensor& tensor) {
    return at::from_blob(
        tensor.data_ptr(), tensor.sizes(), tensor.strides(), [tensor](void*) {},
        at::dtype(tensor.scalar_type()).device(at::kCPU));
}

at::Tensor host_bytes(const at::Tensor& tensor) {
    return at::from_blob(
        tensor.data_ptr(), {tensor.numel() * static_cast<std::int64_t>(tensor.element_size())},
        [tensor](void*) {}, at::dtype(at::kByte).device(at::kCPU));
}

at::Tensor new_bytes(std::int64_t count) {
    return at::empty({count}, at::dtype(at::kByte).device(at::kCPU));
}

at::Tensor& only(std::vector<at::Tensor>& tensors) {
    TORCH_CHECK(tensors.size() == 1,
                "Expecting one tensor only but got multiple. You are probably using multiple "
                "devices under one thread.");
    return tensors.back();
}

void check_dtype(ScalarType dtype) {
    TORCH_CHECK_WITH(TypeError, has(kDtypes, dtype),
                     "Input tensor data type is not supported for NCCL process group: ", dtype);
}

void check_cuda_and_dense(const at::Tensor& tensor) {
    TORCH_CHECK_WITH(ValueError, tensor.is_cuda() && !tensor.is_sparse(),
                     "Tensors must be CUDA and dense");
}

void check_tensor(const at::Tensor& tensor, bool point_to_point) {
    check_cuda_and_dense(tensor);
    if (tensor.is_contiguous(tensor.suggest_memory_format())) return;
    TORCH_CHECK_WITH(ValueError, point_to_point, "Tensors must be contiguous");
    TORCH_WARN_ONCE(
        "Detected non-contiguous tensor in P2P operations. It is user responsibility to guarantee "
        "that source and destination tensors have the same contiguity format.");
}

void check_same_device(const std::vector<at::Tensor>& tensors) {
    TORCH_CHECK_WITH(ValueError, !tensors.empty(), "Tensor list must be nonempty");
    for (const at::Tensor& each : tensors) {
        check_cuda_and_dense(each);
        TORCH_CHECK_WITH(TypeError, each.scalar_type() == tensors.front().scalar_type(),
                         "Tensors must have identical type");
        TORCH_CHECK_WITH(ValueError, each.is_non_overlapping_and_dense(),
                         "Tensors must be non-overlapping and dense");
        TORCH_CHECK_WITH(ValueError, each.device() == tensors.front().device(),
                         "Expected list of tensors on the same device");
    }
}

void check_gathered(const at::Tensor& input, const at::Tensor& output, int size) {
    TORCH_CHECK_TYPE(input.dtype() == output.dtype(),
                     "output tensor must have the same type as input tensor");
    TORCH_CHECK_WITH(ValueError, input.numel() * size == output.numel(),
                     "output tensor size must be equal to world_size times input tensor size");
}

void check_reduction(const ReduceOp& op, ScalarType dtype) {
    TORCH_CHECK(!has(kOnlyMoved, dtype), "Unsupported Float8 type for NCCL reduction");
    check_dtype(dtype);
    switch (op.op_) {
        case ReduceOp::BAND:
            C10_THROW_ERROR(ValueError, "Cannot use ReduceOp.BAND with NCCL");
        case ReduceOp::BOR:
            C10_THROW_ERROR(ValueError, "Cannot use ReduceOp.BOR with NCCL");
        case ReduceOp::BXOR:
            C10_THROW_ERROR(ValueError, "Cannot use ReduceOp.BXOR with NCCL");
        case ReduceOp::AVG:
            TORCH_CHECK_TYPE(dtype != ScalarType::Bool,
                             "Cannot use ReduceOp.AVG with boolean inputs");
            return;
        case ReduceOp::PREMUL_SUM:
            TORCH_CHECK_TYPE(c10::isFloatingType(dtype) && c10::elementSize(dtype) > 1,
                             "PreMulSum Data type must be half, float, bfloat16 or double");
            return;
        case ReduceOp::UNUSED:
            C10_THROW_ERROR(ValueError, "Unhandled ReduceOp");
        default:
            return;
    }
}

void scale_before(const ReduceOp& op, at::Tensor& values) {
    if (op.op_ != ReduceOp::PREMUL_SUM) return;
    // The name that all releases have.
    const auto* factor = static_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
    if (factor->tensor_factor.defined())
        values.mul_(host_view(factor->tensor_factor).reshape({}).to(values.scalar_type()));
    else
        values.mul_(factor->double_factor);
}

at::Tensor reduced(const ReduceOp& op, const at::Tensor& rows) {
    const ScalarType dtype = rows.scalar_type();
    const bool logical = dtype == ScalarType::Bool, floating = c10::isFloatingType(dtype);
    const at::Tensor values = rows.to(wide(dtype));
    const auto compute = [&]() -> at::Tensor {
        switch (op.op_) {
            case ReduceOp::MIN:
                return floating ? without_nans(values, &at::fmin) : values.amin(0);
            case ReduceOp::MAX:
                return floating ? without_nans(values, &at::fmax) : values.amax(0);
            case ReduceOp::PRODUCT:
                return values.prod(0, false, values.scalar_type());
            case ReduceOp::AVG: {
                const at::Tensor sum = values.sum(0, false, values.scalar_type());
                return floating ? sum.div(rows.size(0)) : sum.div(rows.size(0), "trunc");
            }
            default:  // bool: "or", as torch maps it to MAX
                return logical ? values.amax(0) : values.sum(0, false, values.scalar_type());
        }
    };
    return compute().to(dtype);
}

}  // namespace compat::shim::simulate
