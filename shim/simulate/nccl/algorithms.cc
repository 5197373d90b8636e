#include "simulate/nccl/algorithms.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "simulate/nccl/host.h"

namespace compat::shim::simulate {
namespace {

using Sizes = std::vector<std::int64_t>;
using Timeout = Transfers::Timeout;

// Bytes. Below this size, one round of messages takes less time than two rounds with fewer bytes.
// Two ranks always take one round, which sends no more bytes.
constexpr std::int64_t kOneRound = 32 << 10;

std::int64_t itemsize(const at::Tensor& tensor) {
    return static_cast<std::int64_t>(tensor.element_size());
}

at::Tensor bytes_of(const at::Tensor& flat) {
    return flat.scalar_type() == at::kByte ? flat : host_bytes(flat);
}

at::Tensor typed(const at::Tensor& bytes, c10::ScalarType dtype) {
    return dtype == at::kByte ? bytes : bytes.view(dtype);
}

Sizes in_bytes(Sizes counts, std::int64_t itemsize) {
    for (auto& each : counts) each *= itemsize;
    return counts;
}

std::int64_t total(const Sizes& sizes) {
    return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
}

// The values that this rank sends: PREMUL_SUM multiplies before the sum.
at::Tensor scaled(const at::Tensor& flat, const c10d::ReduceOp& op) {
    if (op.op_ != c10d::ReduceOp::PREMUL_SUM) return flat;
    at::Tensor copy = flat.clone();
    scale_before(op, copy);
    return copy;
}

// A row of each rank, with the elements that this rank reduces. `counts`: elements by rank.
at::Tensor rows_for(const Transfers& by, const at::Tensor& flat, const Sizes& counts,
                    Timeout timeout) {
    const std::int64_t mine = counts[static_cast<std::size_t>(by.rank())];
    const std::int64_t size = itemsize(flat);
    at::Tensor received = new_bytes(mine * size * by.ranks());
    by.exchange(received, Sizes(counts.size(), mine * size), bytes_of(flat), in_bytes(counts, size),
                timeout);
    return typed(received, flat.scalar_type()).reshape({by.ranks(), mine});
}

void all_reduce_in_one_round(const Transfers& by, const at::Tensor& flat, const at::Tensor& sent,
                             const c10d::ReduceOp& op, Timeout timeout) {
    at::Tensor all = new_bytes(sent.numel() * itemsize(sent) * by.ranks());
    by.all_gather(all, bytes_of(sent), timeout);
    flat.copy_(reduced(op, typed(all, sent.scalar_type()).reshape({by.ranks(), -1})));
}

}  // namespace

void all_reduce(const Transfers& by, at::Tensor flat, const c10d::ReduceOp& op, Timeout timeout) {
    if (flat.numel() == 0) return;
    const at::Tensor sent = scaled(flat, op);
    if (by.ranks() == 1) {
        flat.copy_(sent);
        return;
    }
    if (by.ranks() == 2 || flat.numel() * itemsize(flat) <= kOneRound)
        return all_reduce_in_one_round(by, flat, sent, op, timeout);
    // Each rank reduces its share, then all ranks get all shares. Shares have one size; the last
    // are padded.
    const std::int64_t share = (flat.numel() + by.ranks() - 1) / by.ranks();
    Sizes counts;
    for (int rank = 0; rank < by.ranks(); ++rank)
        counts.push_back(std::clamp<std::int64_t>(flat.numel() - rank * share, 0, share));
    const at::Tensor mine = reduced(op, rows_for(by, sent, counts, timeout));
    if (flat.numel() == share * by.ranks()) {
        by.all_gather(bytes_of(flat), bytes_of(mine), timeout);
        return;
    }
    at::Tensor filled = at::empty({share}, flat.options());
    filled.narrow(0, 0, mine.numel()).copy_(mine);
    at::Tensor all = at::empty({share * by.ranks()}, flat.options());
    by.all_gather(bytes_of(all), bytes_of(filled), timeout);
    flat.copy_(all.narrow(0, 0, flat.numel()));
}

void reduce_scatter(const Transfers& by, at::Tensor to, const at::Tensor& from, const Sizes& counts,
                    const c10d::ReduceOp& op, Timeout timeout) {
    if (total(counts) == 0) return;
    to.copy_(reduced(op, rows_for(by, scaled(from, op), counts, timeout)));
}

void reduce(const Transfers& by, at::Tensor flat, int root, const c10d::ReduceOp& op,
            Timeout timeout) {
    if (flat.numel() == 0) return;
    Sizes counts(static_cast<std::size_t>(by.ranks()), 0);
    counts[static_cast<std::size_t>(root)] = flat.numel();
    const at::Tensor rows = rows_for(by, scaled(flat, op), counts, timeout);
    if (by.rank() == root) flat.copy_(reduced(op, rows));
}

void exchange(const Transfers& by, const std::vector<at::Tensor>& to,
              const std::vector<at::Tensor>& from, Timeout timeout) {
    const auto sizes = [](const std::vector<at::Tensor>& all) {
        Sizes counts;
        for (const at::Tensor& each : all) counts.push_back(each.numel());
        return counts;
    };
    const Sizes sent = sizes(from), received = sizes(to);
    at::Tensor all = new_bytes(total(received));
    by.exchange(all, received, at::cat(from), sent, timeout);
    std::int64_t at = 0;
    for (const at::Tensor& each : to) {
        each.copy_(all.narrow(0, at, each.numel()));
        at += each.numel();
    }
}

}  // namespace compat::shim::simulate
