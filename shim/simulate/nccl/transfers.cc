#include "simulate/nccl/transfers.h"

#include <numeric>
#include <utility>

namespace compat::shim::simulate {
namespace {

// Of what all ranks do in the same order.
constexpr int kTag = 0;

// Where each rank's bytes begin.
std::vector<std::int64_t> offsets(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> begins(sizes.size());
    std::exclusive_scan(sizes.begin(), sizes.end(), begins.begin(), std::int64_t{0});
    return begins;
}

}  // namespace

void Pending::wait(std::chrono::milliseconds timeout) const {
    for (const auto& message : messages_) message->wait(timeout);
}

std::vector<int> Transfers::others() const {
    std::vector<int> all(static_cast<std::size_t>(ranks() - 1));
    for (int i = 1; i < ranks(); ++i) all[static_cast<std::size_t>(i - 1)] = (rank() + i) % ranks();
    return all;
}

void Transfers::start_send(Pending& pending, at::Tensor bytes, int to, int tag) const {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    pending.add(gloo_->send(tensors, to, tag));
}

void Transfers::start_receive(Pending& pending, at::Tensor bytes, int from, int tag) const {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    pending.add(gloo_->recv(tensors, from, tag));
}

Pending Transfers::start_all_gather(const at::Tensor& to, const at::Tensor& from, int tag) const {
    const std::int64_t size = from.numel();
    const auto place = [&](int of) { return to.narrow(0, of * size, size); };
    Pending pending;
    for (const int other : others()) start_receive(pending, place(other), other, tag);
    for (const int other : others()) start_send(pending, from, other, tag);
    place(rank()).copy_(from);
    return pending;
}

void Transfers::all_gather(const at::Tensor& to, const at::Tensor& from, Timeout timeout) const {
    start_all_gather(to, from, kTag).wait(timeout);
}

void Transfers::broadcast(const at::Tensor& bytes, int root, Timeout timeout) const {
    Pending pending;
    if (rank() != root)
        start_receive(pending, bytes, root, kTag);
    else
        for (const int other : others()) start_send(pending, bytes, other, kTag);
    pending.wait(timeout);
}

void Transfers::exchange(const at::Tensor& to, const std::vector<std::int64_t>& received,
                         const at::Tensor& from, const std::vector<std::int64_t>& sent,
                         Timeout timeout) const {
    const auto to_begin = offsets(received), from_begin = offsets(sent);
    const auto part = [](const at::Tensor& bytes, const auto& begins, const auto& sizes, int of) {
        const auto at = static_cast<std::size_t>(of);
        return bytes.narrow(0, begins[at], sizes[at]);
    };
    Pending pending;
    for (const int other : others())
        if (const at::Tensor bytes = part(to, to_begin, received, other); bytes.numel() > 0)
            start_receive(pending, bytes, other, kTag);
    for (const int other : others())
        if (const at::Tensor bytes = part(from, from_begin, sent, other); bytes.numel() > 0)
            start_send(pending, bytes, other, kTag);
    part(to, to_begin, received, rank()).copy_(part(from, from_begin, sent, rank()));
    pending.wait(timeout);
}

void Transfers::send(at::Tensor bytes, int to, int tag, Timeout timeout) const {
    Pending pending;
    start_send(pending, std::move(bytes), to, tag);
    pending.wait(timeout);
}

void Transfers::receive(at::Tensor bytes, int from, int tag, Timeout timeout) const {
    Pending pending;
    start_receive(pending, std::move(bytes), from, tag);
    pending.wait(timeout);
}

}  // namespace compat::shim::simulate
