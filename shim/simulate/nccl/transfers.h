// Moves bytes between ranks of a group, as messages of a gloo backend on the host. (gloo's own
// collectives pass through a thread of gloo, which takes longer than the bytes of a small step.)
// All ranks call functions without a tag in the same order, from one thread each. These return when
// this rank's part is done. The bytes are not interpreted here.
#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <utility>
#include <vector>

namespace compat::shim::simulate {

// gloo's error, in its words: a rank's process has ended, or its connection broke.
class ConnectionBroken : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

using Messages = std::vector<c10::intrusive_ptr<c10d::Work>>;

// Ends a group's current and later waits for messages: they throw ConnectionBroken, and gloo no
// longer touches their tensors. Call from any thread.
class Cancellation {
  public:
    void cancel();
    [[nodiscard]] bool cancelled() const;

    // While it lives, cancel() ends waits for these messages. Throws if cancel() has been called
    // before.
    class Scope {
      public:
        Scope(Cancellation& cancellation, const Messages& messages);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Cancellation& cancellation_;
        const Messages& messages_;
    };

  private:
    mutable std::mutex mutex_;
    bool cancelled_ = false;
    std::set<const Messages*> waiting_;
};

// Bytes on their way. Every function that moves bytes throws ConnectionBroken.
class Pending {
  public:
    Pending() = default;
    explicit Pending(std::shared_ptr<Cancellation> cancellation)
        : cancellation_(std::move(cancellation)) {}
    void add(c10::intrusive_ptr<c10d::Work> message) { messages_.push_back(std::move(message)); }
    void wait(std::chrono::milliseconds timeout) const;

  private:
    std::shared_ptr<Cancellation> cancellation_;
    Messages messages_;
};

// Messages of one pair and tag arrive in order. The tags: bytes of collectives, the messages that
// two ranks send each other, and the calls that ranks compare.
enum class Tag : std::uint8_t { collective, message, call };

class Transfers {
  public:
    Transfers(c10::intrusive_ptr<c10d::Backend> gloo, std::shared_ptr<Cancellation> cancellation)
        : gloo_(std::move(gloo)), cancellation_(std::move(cancellation)) {}

    [[nodiscard]] int ranks() const { return gloo_->getSize(); }
    [[nodiscard]] int rank() const { return gloo_->getRank(); }
    // All ranks except this one, in order.
    [[nodiscard]] std::vector<int> others() const;

    using Timeout = std::chrono::milliseconds;
    // `to`: ranks() times as long as `from`, in the order of ranks.
    void all_gather(const at::Tensor& to, const at::Tensor& from, Timeout timeout) const;
    void broadcast(const at::Tensor& bytes, int root, Timeout timeout) const;
    // Bytes to and from each rank lie one after the other in `from` and `to`.
    void exchange(const at::Tensor& to, const std::vector<std::int64_t>& received,
                  const at::Tensor& from, const std::vector<std::int64_t>& sent,
                  Timeout timeout) const;

    // Call from any thread.
    [[nodiscard]] Pending start_all_gather(const at::Tensor& to, const at::Tensor& from,
                                           Tag tag) const;
    void send(const at::Tensor& bytes, int to, Tag tag, Timeout timeout) const;
    void receive(const at::Tensor& bytes, int from, Tag tag, Timeout timeout) const;

  private:
    using WorkPtr = c10::intrusive_ptr<c10d::Work>;
    [[nodiscard]] WorkPtr start_send(at::Tensor bytes, int to, Tag tag) const;
    [[nodiscard]] WorkPtr start_receive(at::Tensor bytes, int from, Tag tag) const;

    c10::intrusive_ptr<c10d::Backend> gloo_;
    std::shared_ptr<Cancellation> cancellation_;
};

}  // namespace compat::shim::simulate
