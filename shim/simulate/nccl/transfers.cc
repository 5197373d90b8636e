#include "simulate/nccl/transfers.h"

#include <utility>

namespace compat::shim::simulate {
namespace {

template <class Options>
Options with_timeout(std::chrono::milliseconds timeout) {
    Options options;
    options.timeout = timeout;
    return options;
}

}  // namespace

void Transfers::all_gather(at::Tensor to, at::Tensor from, Timeout timeout) const {
    gloo_->_allgather_base(to, from, with_timeout<c10d::AllgatherOptions>(timeout))->wait();
}

void Transfers::broadcast(at::Tensor bytes, int root, Timeout timeout) const {
    auto options = with_timeout<c10d::BroadcastOptions>(timeout);
    options.rootRank = root;
    std::vector<at::Tensor> tensors{std::move(bytes)};
    gloo_->broadcast(tensors, options)->wait();
}

void Transfers::exchange(at::Tensor to, std::vector<std::int64_t> received, at::Tensor from,
                         std::vector<std::int64_t> sent, Timeout timeout) const {
    gloo_->alltoall_base(to, from, received, sent, with_timeout<c10d::AllToAllOptions>(timeout))
        ->wait();
}

void Transfers::send(at::Tensor bytes, int to, int tag, Timeout timeout) const {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    gloo_->send(tensors, to, tag)->wait(timeout);
}

void Transfers::receive(at::Tensor bytes, int from, int tag, Timeout timeout) const {
    std::vector<at::Tensor> tensors{std::move(bytes)};
    gloo_->recv(tensors, from, tag)->wait(timeout);
}

}  // namespace compat::shim::simulate
