// Kernels that the boxed one (kernel.h) cannot replace: those that allocate memory, change a
// tensor's view, copy between device and host, or read a sparse tensor's members.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>

namespace torch {
class Library;
}

namespace compat::shim::simulate {

void add_dense_kernels(torch::Library& dense, torch::Library& autograd);
void add_nested_kernels(torch::Library& nested, torch::Library& autograd);
void add_sparse_kernels(torch::Library& sparse);
void add_compressed_kernels(torch::Library& compressed);
void add_quantized_kernels(torch::Library& quantized);

// Kernels that CUDA has and the CPU lacks (kernels/cuda_kernels.cc, kernels/cuda_lu.cc).
void add_cuda_kernels(torch::Library& dense);
void add_lu_kernels(torch::Library& dense);
// SyncBatchNorm's steps, and fused attention (kernels/sync_batch_norm.cc,
// kernels/fused_attention.cc).
void add_sync_batch_norm_kernels(torch::Library& dense);
void add_fused_attention(torch::Library& dense);
// scaled_dot_product_attention on CUDA: with the fused kernel that CUDA would choose, or with the
// plain formula. `bias` is added to the scores. Throws torch's error if the program allows no
// kernel that takes these tensors.
[[nodiscard]] at::Tensor cuda_attention(const at::Tensor& query, const at::Tensor& key,
                                        const at::Tensor& value,
                                        const std::optional<at::Tensor>& bias, double dropout,
                                        bool causal, std::optional<double> scale, bool grouped);
// torch.distributed on simulated CUDA (kernels/collectives.cc).
void add_collectives();
// Attention of MPS where no gradient is wanted (kernels/attention.cc).
void add_attention_kernels(torch::Library& dense);
// Products with weights of four bits, for either device (kernels/int4.cc).
void add_int4_kernels();
// Whole layers of recurrent networks, for either device (kernels/recurrent.cc).
void add_recurrent_kernels(torch::Library& dense);

}  // namespace compat::shim::simulate
