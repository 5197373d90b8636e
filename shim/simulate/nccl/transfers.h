// How bytes get from rank to rank of a group: by a gloo backend, on the host. Each function is
// called by all ranks in the same order, from one thread of each, and returns when this rank's part
// is done. Nothing here looks at what the bytes mean.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace compat::shim::simulate {

class Transfers {
  public:
    explicit Transfers(c10::intrusive_ptr<c10d::Backend> gloo) : gloo_(std::move(gloo)) {}

    [[nodiscard]] int ranks() const { return gloo_->getSize(); }
    [[nodiscard]] int rank() const { return gloo_->getRank(); }

    using Timeout = std::chrono::milliseconds;
    // `to`: ranks() times as long as `from`, in the order of ranks.
    void all_gather(at::Tensor to, at::Tensor from, Timeout timeout) const;
    void broadcast(at::Tensor bytes, int root, Timeout timeout) const;
    // Bytes to and from each rank lie one after the other in `from` and `to`.
    void exchange(at::Tensor to, std::vector<std::int64_t> received, at::Tensor from,
                  std::vector<std::int64_t> sent, Timeout timeout) const;

    // From any thread. Messages of one pair and tag arrive in order.
    void send(at::Tensor bytes, int to, int tag, Timeout timeout) const;
    void receive(at::Tensor bytes, int from, int tag, Timeout timeout) const;

  private:
    c10::intrusive_ptr<c10d::Backend> gloo_;
};

}  // namespace compat::shim::simulate
