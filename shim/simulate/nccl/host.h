// Tensors of a simulated device as the host sees them, and reductions there: which dtypes and
// reductions NCCL has, and their values. It knows nothing of ranks that talk.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

namespace compat::shim::simulate {

// The tensor's own memory as a CPU tensor of the same sizes and strides, which keeps it alive.
[[nodiscard]] at::Tensor host_view(const at::Tensor& tensor);
// The same as bytes: numel * itemsize from its first element on, whatever its strides, as NCCL
// reads it.
[[nodiscard]] at::Tensor host_bytes(const at::Tensor& tensor);
// New host memory, uninitialised.
[[nodiscard]] at::Tensor new_bytes(std::int64_t count);

// Throw ProcessGroupNCCL's errors. `only`: of a list that must have one tensor.
[[nodiscard]] at::Tensor& only(std::vector<at::Tensor>& tensors);
void check_dtype(c10::ScalarType dtype);
void check_cuda_and_dense(const at::Tensor& tensor);
void check_tensor(const at::Tensor& tensor, bool point_to_point = false);
// Of a coalesced call: CUDA and dense, of one dtype, on one device.
void check_same_device(const std::vector<at::Tensor>& tensors);
void check_reduction(const c10d::ReduceOp& op, c10::ScalarType dtype);

// Before its tensor is sent: PREMUL_SUM's factor. `values`: of `dtype`, on the host; changed.
void scale_before(const c10d::ReduceOp& op, at::Tensor& values);
// One row for each rank to one value for each column. Half precision is summed in float.
[[nodiscard]] at::Tensor reduced(const c10d::ReduceOp& op, const at::Tensor& rows);

}  // namespace compat::shim::simulate
