// How bytes get from rank to rank of a group: by messages of a gloo backend, on the host. (gloo's
// own collectives pass through a thread of gloo, which takes longer than the bytes of a small
// step.) Functions without a tag are called by all ranks in the same order, from one thread of
// each, and return when this rank's part is done. Nothing here looks at what the bytes mean.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace compat::shim::simulate {

// gloo's error, in its words: a rank's process has ended, or its connection broke.
class ConnectionBroken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Bytes on their way. All that moves bytes throws ConnectionBroken.
class Pending {
  public:
    void add(c10::intrusive_ptr<c10d::Work> message) { messages_.push_back(std::move(message)); }
    void wait(std::chrono::milliseconds timeout) const;

  private:
    std::vector<c10::intrusive_ptr<c10d::Work>> messages_;
};

// Messages of one pair and tag arrive in order: those of all ranks' collectives, the messages that
// two ranks send each other, and the calls that ranks compare.
enum class Tag : std::uint8_t { collective, message, call };

class Transfers {
  public:
    explicit Transfers(c10::intrusive_ptr<c10d::Backend> gloo) : gloo_(std::move(gloo)) {}

    [[nodiscard]] int ranks() const { return gloo_->getSize(); }
    [[nodiscard]] int rank() const { return gloo_->getRank(); }
    // Ranks but this one, in order.
    [[nodiscard]] std::vector<int> others() const;

    using Timeout = std::chrono::milliseconds;
    // `to`: ranks() times as long as `from`, in the order of ranks.
    void all_gather(const at::Tensor& to, const at::Tensor& from, Timeout timeout) const;
    void broadcast(const at::Tensor& bytes, int root, Timeout timeout) const;
    // Bytes to and from each rank lie one after the other in `from` and `to`.
    void exchange(const at::Tensor& to, const std::vector<std::int64_t>& received,
                  const at::Tensor& from, const std::vector<std::int64_t>& sent,
                  Timeout timeout) const;

    // From any thread.
    [[nodiscard]] Pending start_all_gather(const at::Tensor& to, const at::Tensor& from,
                                           Tag tag) const;
    void send(const at::Tensor& bytes, int to, Tag tag, Timeout timeout) const;
    void receive(const at::Tensor& bytes, int from, Tag tag, Timeout timeout) const;

  private:
    using WorkPtr = c10::intrusive_ptr<c10d::Work>;
    [[nodiscard]] WorkPtr start_send(at::Tensor bytes, int to, Tag tag) const;
    [[nodiscard]] WorkPtr start_receive(at::Tensor bytes, int from, Tag tag) const;

    c10::intrusive_ptr<c10d::Backend> gloo_;
};

}  // namespace compat::shim::simulate
