// Tensors of a simulated device as the host sees them, and reductions there: which dtypes and
// reductions NCCL has, and their values. It does no communication.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

namespace compat::shim::simulate {

// A CPU tensor over the tensor's memory, with its sizes and strides. It keeps the memory alive.
[[nodiscard]] at::Tensor host_view(const at::Tensor& tensor);
// A byte tensor over the memory that NCCL reads: numel * itemsize bytes from the first element on,
// whatever the strides.
[[nodiscard]] at::Tensor host_bytes(const at::Tensor& tensor);
// New host memory, uninitialised.
[[nodiscard]] at::Tensor new_bytes(std::int64_t count);

// They throw ProcessGroupNCCL's errors. `only`: the tensor of a list that must have one.
[[nodiscard]] at::Tensor& only(std::vector<at::Tensor>& tensors);
void check_dtype(c10::ScalarType dtype);
void check_cuda_and_dense(const at::Tensor& tensor);
void check_tensor(const at::Tensor& tensor, bool point_to_point = false);
// For a coalesced call: all tensors are dense, of one dtype, on one CUDA device.
void check_same_device(const std::vector<at::Tensor>& tensors);
// For a tensor into which the inputs of `size` ranks are gathered.
void check_gathered(const at::Tensor& input, const at::Tensor& output, int size);
void check_reduction(const c10d::ReduceOp& op, c10::ScalarType dtype);

// Multiplies `values`, a host tensor, by PREMUL_SUM's factor, before they are sent.
void scale_before(const c10d::ReduceOp& op, at::Tensor& values);
// Reduces rows, one for each rank, to one row. Half precision is summed in float.
[[nodiscard]] at::Tensor reduced(const c10d::ReduceOp& op, const at::Tensor& rows);

}  // namespace compat::shim::simulate
