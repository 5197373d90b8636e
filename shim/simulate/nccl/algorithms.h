// Computes the values of collectives from a rank's tensor memory on the host and the other ranks'
// bytes. All ranks of a group call the same function with tensors that fit (call.h). Flat tensors
// have one dimension and no gaps.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

#include "simulate/nccl/transfers.h"

namespace compat::shim::simulate {

void all_reduce(const Transfers& by, at::Tensor flat, const c10d::ReduceOp& op,
                Transfers::Timeout timeout);
// Reduces this rank's part of every rank's `from` into `to`. `counts`: elements of each rank's
// part.
void reduce_scatter(const Transfers& by, at::Tensor to, const at::Tensor& from,
                    const std::vector<std::int64_t>& counts, const c10d::ReduceOp& op,
                    Transfers::Timeout timeout);
void reduce(const Transfers& by, at::Tensor flat, int root, const c10d::ReduceOp& op,
            Transfers::Timeout timeout);

// Exchanges bytes. Lists have one tensor for each rank, with sizes that fit those of the other
// ranks.
void exchange(const Transfers& by, const std::vector<at::Tensor>& to,
              const std::vector<at::Tensor>& from, Transfers::Timeout timeout);

}  // namespace compat::shim::simulate
