#include "simulate/nccl/transfers.h"

#include <c10/util/Exception.h>

#include <numeric>
#include <utility>

namespace compat::shim::simulate {
namespace {

template <class Function>
auto of_gloo(Function function) {
    try {
        return function();
    } catch (const c10::Error& error) {
        throw ConnectionBroken(error.what_without_backtrace());
    } catch (const std::exception& error) {
        throw ConnectionBroken(error.what());
    }
}

}  // namespace

void Cancellation::cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (const Messages* messages : waiting_)
        for (const auto& message : *messages) message->abort();
}

bool Cancellation::cancelled() const {
    const std::lock_guard lock(mutex_);
    return cancelled_;
}

Cancellation::Scope::Scope(Cancellation& cancellation, const Messages& messages)
    : cancellation_(cancellation), messages_(messages) {
    const std::lock_guard lock(cancellation_.mutex_);
    if (cancellation_.cancelled_) throw ConnectionBroken("the group is aborted");
    cancellation_.waiting_.insert(&messages_);
}

Cancellation::Scope::~Scope() {
    const std::lock_guard lock(cancellation_.mutex_);
    cancellation_.waiting_.erase(&messages_);
}

void Pending::wait(std::chrono::milliseconds timeout) const {
    of_gloo([&] {
        const Cancellation::Scope scope(*cancellation_, messages_);
        for (const auto& message : messages_)
            if (!message->wait(timeout)) throw std::runtime_error("the wait was aborted");
    });
}

std::vector<int> Transfers::others() const {
    std::vector<int> all(static_cast<std::size_t>(ranks()));
    std::iota(all.begin(), all.end(), 0);
    all.erase(all.begin() + rank());
    return all;
}

Transfers::WorkPtr Transfers::start_send(at::Tensor bytes, int to, Tag tag) const {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    return of_gloo([&] { return gloo_->send(tensors, to, static_cast<int>(tag)); });
}

Transfers::WorkPtr Transfers::start_receive(at::Tensor bytes, int from, Tag tag) const {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    return of_gloo([&] { return gloo_->recv(tensors, from, static_cast<int>(tag)); });
}

void Transfers::send(const at::Tensor& bytes, int to, Tag tag, Timeout timeout) const {
    Pending pending(cancellation_);
    if (bytes.numel() > 0) pending.add(start_send(bytes, to, tag));
    pending.wait(timeout);
}

void Transfers::receive(const at::Tensor& bytes, int from, Tag tag, Timeout timeout) const {
    Pending pending(cancellation_);
    if (bytes.numel() > 0) pending.add(start_receive(bytes, from, tag));
    pending.wait(timeout);
}

Pending Transfers::start_all_gather(const at::Tensor& to, const at::Tensor& from, Tag tag) const {
    const std::int64_t size = from.numel();
    const auto place = [&](int of) { return to.narrow(0, of * size, size); };
    Pending pending(cancellation_);
    for (const int other : others()) pending.add(start_receive(place(other), other, tag));
    for (const int other : others()) pending.add(start_send(from, other, tag));
    place(rank()).copy_(from);
    return pending;
}

void Transfers::all_gather(const at::Tensor& to, const at::Tensor& from, Timeout timeout) const {
    start_all_gather(to, from, Tag::collective).wait(timeout);
}

void Transfers::broadcast(const at::Tensor& bytes, int root, Timeout timeout) const {
    Pending pending(cancellation_);
    if (rank() != root)
        pending.add(start_receive(bytes, root, Tag::collective));
    else
        for (const int other : others()) pending.add(start_send(bytes, other, Tag::collective));
    pending.wait(timeout);
}

void Transfers::exchange(const at::Tensor& to, const std::vector<std::int64_t>& received,
                         const at::Tensor& from, const std::vector<std::int64_t>& sent,
                         Timeout timeout) const {
    const auto parts_to = to.split_with_sizes(received), parts_from = from.split_with_sizes(sent);
    const auto part = [](const auto& parts, int of) { return parts[static_cast<std::size_t>(of)]; };
    Pending pending(cancellation_);
    for (const int other : others())
        if (const at::Tensor bytes = part(parts_to, other); bytes.numel() > 0)
            pending.add(start_receive(bytes, other, Tag::collective));
    for (const int other : others())
        if (const at::Tensor bytes = part(parts_from, other); bytes.numel() > 0)
            pending.add(start_send(bytes, other, Tag::collective));
    part(parts_to, rank()).copy_(part(parts_from, rank()));
    pending.wait(timeout);
}

}  // namespace compat::shim::simulate
