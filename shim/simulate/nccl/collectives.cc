// The tensors of each collective: ProcessGroupNCCL's checks of them, and which bytes go where.
#include <ATen/Functions.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "simulate/nccl/algorithms.h"
#include "simulate/nccl/backend.h"
#include "simulate/nccl/errors.h"
#include "simulate/nccl/host.h"

namespace compat::shim::simulate {
namespace {

using c10d::OpType;
using Tensors = std::vector<at::Tensor>;

// A complex number is reduced as two real ones, if the reduction allows that.
at::Tensor for_reduction(const at::Tensor& tensor, const c10d::ReduceOp& op, const char* name) {
    at::Tensor real = tensor;
    if (tensor.is_complex()) {
        TORCH_CHECK(c10d::isComplexViewAsRealAllowed(op), name, " does not support",
                    static_cast<int>(op.op_), "on complex tensors");
        real = at::view_as_real(tensor);
    }
    check_tensor(real);
    check_reduction(op, real.scalar_type());
    return real;
}

at::Tensor to_move(const at::Tensor& tensor) {
    const at::Tensor real = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
    check_tensor(real);
    check_dtype(real.scalar_type());
    return real;
}

at::Tensor flat(const at::Tensor& tensor) {
    return at::from_blob(
        tensor.data_ptr(), {tensor.numel()}, [tensor](void*) {},
        at::dtype(tensor.scalar_type()).device(at::kCPU));
}

bool of_one_size(const Tensors& tensors) {
    return std::all_of(tensors.begin(), tensors.end(),
                       [&](const at::Tensor& each) { return each.is_same_size(tensors[0]); });
}

void check_list(const Tensors& list, const at::Tensor& other, int size) {
    TORCH_CHECK_WITH(ValueError, list.size() == static_cast<std::size_t>(size),
                     "Tensor list input to scatter/gather must match number of collective "
                     "participants");
    for (const at::Tensor& each : list) {
        check_cuda_and_dense(each);
        TORCH_CHECK_WITH(TypeError, each.scalar_type() == other.scalar_type(),
                         "All tensor operands to scatter/gather must have the same dtype");
    }
}

// The bytes of each tensor as they lie in memory: one flat tensor for each rank.
Tensors bytes_of(const Tensors& list) {
    Tensors bytes;
    for (const at::Tensor& each : list)
        bytes.push_back(host_bytes(each.is_non_overlapping_and_dense() ? each : each.contiguous()));
    return bytes;
}

// The root's list in a gather ("output") or scatter ("input"), whose tensors are like `tensor`;
// empty on other ranks.
Tensors list_of_root(const std::string& collective, const std::string& side, bool is_root,
                     const std::vector<Tensors>& lists, const at::Tensor& tensor, int size) {
    const auto refuse = [&](const std::string& text) {
        C10_THROW_ERROR(ValueError, "ProcessGroupNCCL::" + collective + ": " + text);
    };
    if (!is_root) {
        if (!lists.empty()) refuse("requires empty " + side + " on non-root");
        return {};
    }
    if (lists.size() != 1)
        refuse("requires a single-element " + side + " list containing a list with " +
               std::to_string(size) + " tensors.");
    if (lists[0].size() != static_cast<std::size_t>(size))
        refuse("Incorrect " + side + " list size " + std::to_string(lists[0].size()) + ". " +
               (side == "input" ? "Input" : "Output") + " list size should be " +
               std::to_string(size) + ", same as size of the process group.");
    c10d::assertTypeAndSizesMatch(refuse, lists[0], tensor.options(), tensor.sizes());
    return lists[0];
}

// Throws unless a gather or a scatter can have this root.
int checked_root_rank(const std::string& collective, std::int64_t root, int size) {
    const auto refuse = [&](const std::string& text) {
        C10_THROW_ERROR(ValueError, "ProcessGroupNCCL::" + collective + ": " + text);
    };
    c10d::assertRootRank(refuse, root, size);
    return static_cast<int>(root);
}

template <class Options>
int checked_root(const char* collective, const Options& opts, int size) {
    const auto root = static_cast<int>(opts.rootRank + opts.rootTensor);
    if (root < 0 || root >= size) throw_invalid_root(collective, root, size);
    return root;
}

Tensors empty_for(int size) { return Tensors(static_cast<std::size_t>(size), new_bytes(0)); }

std::vector<std::int64_t> sizes_of(const Tensors& tensors) {
    std::vector<std::int64_t> bytes;
    for (const at::Tensor& each : tensors)
        bytes.push_back(each.numel() * static_cast<std::int64_t>(each.element_size()));
    return bytes;
}

// `bytes`: as from bytes_of. They fill a tensor with gaps in the order of its elements.
void copy_bytes(const at::Tensor& tensor, const at::Tensor& bytes) {
    if (tensor.numel() == 0) return;
    if (tensor.is_non_overlapping_and_dense())
        host_bytes(tensor).copy_(bytes);
    else
        host_view(tensor).copy_(bytes.view(tensor.scalar_type()).view(tensor.sizes()));
}

std::int64_t total_of(const Tensors& tensors) {
    std::int64_t total = 0;
    for (const at::Tensor& each : tensors) total += each.numel();
    return total;
}

}  // namespace

NcclBackend::WorkPtr NcclBackend::broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) {
    const at::Tensor tensor = to_move(only(tensors));
    Call call = call_of(OpType::BROADCAST, tensor, tensor);
    call.root = checked_root("Broadcast", opts, size_);
    return post({call, tensors,
                 [tensor, root = call.root](const Transfers& by, Timeout timeout) {
                     if (tensor.numel() > 0) by.broadcast(host_bytes(tensor), root, timeout);
                 },
                 opts.timeout, tensors});
}

NcclBackend::WorkPtr NcclBackend::allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) {
    const at::Tensor tensor = for_reduction(only(tensors), opts.reduceOp, "all_reduce");
    Call call = call_of(OpType::ALLREDUCE, tensor, tensor);
    call.reduction = opts.reduceOp.op_;
    return post({call, tensors,
                 [tensor, op = opts.reduceOp](const Transfers& by, Timeout timeout) {
                     all_reduce(by, flat(tensor), op, timeout);
                 },
                 opts.timeout, tensors});
}

NcclBackend::WorkPtr NcclBackend::allreduce_sparse(Tensors& /*tensors*/,
                                                   const c10d::AllreduceOptions& /*opts*/) {
    TORCH_CHECK(false,
                "NCCL does not support all_reduce with sparse tensors. Please use dense tensors "
                "instead.");
}

NcclBackend::WorkPtr NcclBackend::allreduce_coalesced(Tensors& tensors,
                                                      const c10d::AllreduceCoalescedOptions& opts) {
    check_same_device(tensors);
    check_reduction(opts.reduceOp, tensors.front().scalar_type());
    Call call = call_of(OpType::ALLREDUCE_COALESCED, tensors.front(), tensors.front());
    call.reduction = opts.reduceOp.op_;
    call.sent = call.received = total_of(tensors);
    call.list = hash_of(tensors);
    return post({call, tensors,
                 [tensors, op = opts.reduceOp](const Transfers& by, Timeout timeout) {
                     for (const at::Tensor& each : tensors) all_reduce(by, flat(each), op, timeout);
                 },
                 opts.timeout, tensors, "nccl:allreduce_coalesced"});
}

NcclBackend::WorkPtr NcclBackend::reduce(Tensors& tensors, const c10d::ReduceOptions& opts) {
    const at::Tensor tensor = for_reduction(only(tensors), opts.reduceOp, "reduce");
    Call call = call_of(OpType::REDUCE, tensor, tensor);
    call.reduction = opts.reduceOp.op_;
    call.root = checked_root("Reduce", opts, size_);
    return post(
        {call, tensors,
         [tensor, op = opts.reduceOp, root = call.root](const Transfers& by, Timeout timeout) {
             simulate::reduce(by, flat(tensor), root, op, timeout);
         },
         opts.timeout, tensors});
}

NcclBackend::WorkPtr NcclBackend::_allgather_base(at::Tensor& output, at::Tensor& input,
                                                  const c10d::AllgatherOptions& opts) {
    const at::Tensor from = to_move(input), to = to_move(output);
    check_gathered(input, output, size_);
    return post({call_of(OpType::_ALLGATHER_BASE, from, to),
                 {output},
                 [from, to](const Transfers& by, Timeout timeout) {
                     if (from.numel() == 0) return;
                     // The input may be this rank's part of the output.
                     by.all_gather(host_bytes(to), host_bytes(from).clone(), timeout);
                 },
                 opts.timeout,
                 {input}});
}

NcclBackend::WorkPtr NcclBackend::allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& opts) {
    const at::Tensor& input = only(inputs);
    const Tensors list = outputs.back();
    const at::Tensor from = to_move(input);
    check_list(list, input, size_);
    TORCH_CHECK_WITH(ValueError, list[static_cast<std::size_t>(rank_)].numel() == input.numel(),
                     "All tensor operands to scatter/gather must have the same number of elements");
    Call call = call_of(OpType::ALLGATHER, from, from);
    call.received = total_of(list);
    if (!of_one_size(list)) {
        call.send_bytes.assign(static_cast<std::size_t>(size_),
                               from.numel() * static_cast<std::int64_t>(from.element_size()));
        call.receive_bytes = sizes_of(list);
    }
    return post({call, list,
                 [from, list, sizes = call.receive_bytes](const Transfers& by, Timeout timeout) {
                     const at::Tensor bytes = host_bytes(from);
                     if (!sizes.empty()) {
                         Tensors parts;
                         for (const std::int64_t size : sizes) parts.push_back(new_bytes(size));
                         exchange(by, parts, Tensors(parts.size(), bytes), timeout);
                         for (std::size_t i = 0; i < list.size(); ++i)
                             copy_bytes(list[i], parts[i]);
                         return;
                     }
                     if (bytes.numel() == 0) return;
                     at::Tensor all = new_bytes(bytes.numel() * by.ranks());
                     by.all_gather(all, bytes, timeout);
                     for (std::size_t i = 0; i < list.size(); ++i)
                         copy_bytes(list[i],
                                    all.narrow(0, static_cast<std::int64_t>(i) * bytes.numel(),
                                               bytes.numel()));
                 },
                 opts.timeout, inputs});
}

NcclBackend::WorkPtr NcclBackend::allgather_coalesced(std::vector<Tensors>& /*outputs*/,
                                                      Tensors& /*inputs*/,
                                                      const c10d::AllgatherOptions& /*opts*/) {
    C10_THROW_ERROR(NotImplementedError, "ProcessGroupNCCL does not support allgather_coalesced");
}

NcclBackend::WorkPtr NcclBackend::allgather_into_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) {
    TORCH_CHECK_WITH(ValueError, !inputs.empty() && inputs.size() == outputs.size(),
                     "Tensor list must be nonempty");
    Tensors from, to;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        from.push_back(to_move(inputs[i]));
        to.push_back(to_move(outputs[i]));
        check_gathered(inputs[i], outputs[i], size_);
    }
    Call call = call_of(OpType::_ALLGATHER_BASE, from.front(), to.front());
    call.list = hash_of(from);
    call.sent = total_of(from);
    call.received = total_of(to);
    return post({call, outputs,
                 [from, to](const Transfers& by, Timeout timeout) {
                     for (std::size_t i = 0; i < from.size(); ++i)
                         if (from[i].numel() > 0)
                             by.all_gather(host_bytes(to[i]), host_bytes(from[i]).clone(), timeout);
                 },
                 opts.timeout, inputs, "nccl:all_gather_into_tensor_coalesced"});
}

NcclBackend::WorkPtr NcclBackend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                                         const c10d::GatherOptions& opts) {
    const int root = checked_root_rank("gather", opts.rootRank, size_);
    const at::Tensor& input = only(inputs);
    const at::Tensor from = to_move(input);
    const bool is_root = rank_ == root;
    const Tensors list = list_of_root("gather", "output", is_root, outputs, input, size_);
    Call call = call_of(OpType::GATHER, from, from);
    call.root = root;
    return post({call, is_root ? list : inputs,
                 [from, list, root](const Transfers& by, Timeout timeout) {
                     Tensors sent = empty_for(by.ranks()), received = empty_for(by.ranks());
                     sent[static_cast<std::size_t>(root)] = host_bytes(from);
                     for (std::size_t i = 0; i < list.size(); ++i)
                         received[i] = new_bytes(host_bytes(from).numel());
                     exchange(by, received, sent, timeout);
                     for (std::size_t i = 0; i < list.size(); ++i) copy_bytes(list[i], received[i]);
                     // The root sends itself no message.
                     if (!list.empty())
                         host_view(list[static_cast<std::size_t>(root)]).copy_(host_view(from));
                 },
                 opts.timeout, inputs});
}

// `output` is used on the root alone.
NcclBackend::WorkPtr NcclBackend::gather_single(at::Tensor& output, at::Tensor& input,
                                                const c10d::GatherOptions& opts) {
    const int root = checked_root_rank("gather_single", opts.rootRank, size_);
    const at::Tensor from = to_move(input), to = rank_ == root ? to_move(output) : at::Tensor();
    if (to.defined()) check_gathered(input, output, size_);
    Call call = call_of(OpType::GATHER, from, from);
    call.root = root;
    return post({call,
                 {output},
                 [from, to, root](const Transfers& by, Timeout timeout) {
                     const at::Tensor bytes = host_bytes(from);
                     const auto ranks = static_cast<std::size_t>(by.ranks());
                     std::vector<std::int64_t> sent(ranks, 0), received(ranks, 0);
                     sent[static_cast<std::size_t>(root)] = bytes.numel();
                     if (to.defined()) received.assign(ranks, bytes.numel());
                     by.exchange(to.defined() ? host_bytes(to) : new_bytes(0), received, bytes,
                                 sent, timeout);
                 },
                 opts.timeout,
                 {input},
                 "nccl:gather_single"});
}

NcclBackend::WorkPtr NcclBackend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                          const c10d::ScatterOptions& opts) {
    const int root = checked_root_rank("scatter", opts.rootRank, size_);
    const at::Tensor& output = only(outputs);
    const at::Tensor to = to_move(output);
    const bool is_root = rank_ == root;
    const Tensors list = list_of_root("scatter", "input", is_root, inputs, output, size_);
    Call call = call_of(OpType::SCATTER, to, to);
    call.root = root;
    return post({call, outputs,
                 [to, list, root](const Transfers& by, Timeout timeout) {
                     Tensors received = empty_for(by.ranks());
                     received[static_cast<std::size_t>(root)] = new_bytes(host_bytes(to).numel());
                     exchange(by, received, list.empty() ? empty_for(by.ranks()) : bytes_of(list),
                              timeout);
                     if (list.empty())
                         copy_bytes(to, received[static_cast<std::size_t>(root)]);
                     else
                         host_view(to).copy_(host_view(list[static_cast<std::size_t>(root)]));
                 },
                 opts.timeout, list});
}

NcclBackend::WorkPtr NcclBackend::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                       const c10d::ReduceScatterOptions& opts) {
    TORCH_CHECK_TYPE(input.dtype() == output.dtype(),
                     "input tensor must be the same type as the output tensor.");
    TORCH_CHECK_WITH(ValueError, input.numel() == output.numel() * size_,
                     "input tensor must be the same size as output size times world size");
    const at::Tensor from = for_reduction(input, opts.reduceOp, "reduce_scatter_tensor");
    const at::Tensor to = for_reduction(output, opts.reduceOp, "reduce_scatter_tensor");
    Call call = call_of(OpType::_REDUCE_SCATTER_BASE, from, to);
    call.reduction = opts.reduceOp.op_;
    return post({call,
                 {output},
                 [from, to, op = opts.reduceOp](const Transfers& by, Timeout timeout) {
                     const std::vector<std::int64_t> counts(static_cast<std::size_t>(by.ranks()),
                                                            to.numel());
                     simulate::reduce_scatter(by, flat(to), flat(from), counts, op, timeout);
                 },
                 opts.timeout,
                 {input}});
}

NcclBackend::WorkPtr NcclBackend::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                 const c10d::ReduceScatterOptions& opts) {
    const at::Tensor to = for_reduction(only(outputs), opts.reduceOp, "reduce_scatter");
    const Tensors list = inputs.back();
    check_list(list, outputs.back(), size_);
    TORCH_CHECK_WITH(ValueError,
                     list[static_cast<std::size_t>(rank_)].numel() == outputs.back().numel(),
                     "All tensor operands to scatter/gather must have the same number of elements");
    Tensors real;
    std::vector<std::int64_t> counts;
    for (const at::Tensor& each : list) {
        real.push_back(each.is_complex() ? at::view_as_real(each) : each);
        counts.push_back(real.back().numel());
    }
    Call call = call_of(OpType::REDUCE_SCATTER, to, to);
    call.sent = total_of(real);
    call.reduction = opts.reduceOp.op_;
    if (!of_one_size(list)) {
        const auto size = static_cast<std::int64_t>(to.element_size());
        for (const std::int64_t count : counts) call.send_bytes.push_back(count * size);
        call.receive_bytes.assign(counts.size(), to.numel() * size);
    }
    return post({call, outputs,
                 [real, to, counts, op = opts.reduceOp](const Transfers& by, Timeout timeout) {
                     Tensors parts;
                     for (const at::Tensor& each : real)
                         parts.push_back(host_view(each).reshape({-1}));
                     simulate::reduce_scatter(by, flat(to), at::cat(parts), counts, op, timeout);
                 },
                 opts.timeout, list});
}

NcclBackend::WorkPtr NcclBackend::reduce_scatter_tensor_coalesced(
    Tensors& outputs, Tensors& inputs, const c10d::ReduceScatterOptions& opts) {
    TORCH_CHECK_WITH(ValueError, !inputs.empty() && inputs.size() == outputs.size(),
                     "Tensor list must be nonempty");
    Tensors from, to;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        from.push_back(for_reduction(inputs[i], opts.reduceOp, "reduce_scatter_tensor"));
        to.push_back(for_reduction(outputs[i], opts.reduceOp, "reduce_scatter_tensor"));
        TORCH_CHECK_WITH(ValueError, from[i].numel() == to[i].numel() * size_,
                         "input tensor must be the same size as output size times world size");
    }
    Call call = call_of(OpType::_REDUCE_SCATTER_BASE, from.front(), to.front());
    call.reduction = opts.reduceOp.op_;
    call.list = hash_of(from);
    call.sent = total_of(from);
    call.received = total_of(to);
    return post({call, outputs,
                 [from, to, op = opts.reduceOp](const Transfers& by, Timeout timeout) {
                     for (std::size_t i = 0; i < from.size(); ++i) {
                         const std::vector<std::int64_t> counts(
                             static_cast<std::size_t>(by.ranks()), to[i].numel());
                         simulate::reduce_scatter(by, flat(to[i]), flat(from[i]), counts, op,
                                                  timeout);
                     }
                 },
                 opts.timeout, inputs, "nccl:reduce_scatter_tensor_coalesced"});
}

NcclBackend::WorkPtr NcclBackend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                                std::vector<std::int64_t>& output_splits,
                                                std::vector<std::int64_t>& input_splits,
                                                const c10d::AllToAllOptions& opts) {
    const at::Tensor from = to_move(input), to = to_move(output);
    c10d::checkSplitSizes(input_splits, input, size_);
    c10d::checkSplitSizes(output_splits, output, size_);
    Call call = call_of(OpType::ALLTOALL_BASE, from, to);
    const auto bytes = [&](const at::Tensor& tensor, const std::vector<std::int64_t>& splits) {
        const std::int64_t whole = host_bytes(tensor).numel();
        std::vector<std::int64_t> sizes;
        for (int rank = 0; rank < size_; ++rank)
            sizes.push_back(splits.empty() ? whole / size_
                            : tensor.size(0) == 0
                                ? 0
                                : whole / tensor.size(0) * splits[static_cast<std::size_t>(rank)]);
        return sizes;
    };
    call.send_bytes = bytes(from, input_splits);
    call.receive_bytes = bytes(to, output_splits);
    return post({call,
                 {output},
                 [from, to, sent = call.send_bytes, received = call.receive_bytes](
                     const Transfers& by, Timeout timeout) {
                     by.exchange(host_bytes(to), received, host_bytes(from), sent, timeout);
                 },
                 opts.timeout,
                 {input}});
}

NcclBackend::WorkPtr NcclBackend::alltoall(Tensors& outputs, Tensors& inputs,
                                           const c10d::AllToAllOptions& opts) {
    TORCH_CHECK_WITH(
        ValueError,
        inputs.size() == static_cast<std::size_t>(size_) && outputs.size() == inputs.size(),
        "Number of tensors must be equal to the size of the group");
    const at::Device device = outputs[0].device();
    for (const Tensors* list : {&inputs, &outputs})
        for (const at::Tensor& each : *list) {
            (void)to_move(each);
            TORCH_CHECK(each.device() == device, "Tensors must be on the same device");
        }
    Call call = call_of(OpType::ALLTOALL, inputs.front(), outputs.front());
    call.sent = total_of(inputs);
    call.received = total_of(outputs);
    call.send_bytes = sizes_of(inputs);
    call.receive_bytes = sizes_of(outputs);
    return post({call, outputs,
                 [from = inputs, to = outputs, sizes = call.receive_bytes](const Transfers& by,
                                                                           Timeout timeout) {
                     Tensors received;
                     for (const std::int64_t size : sizes) received.push_back(new_bytes(size));
                     exchange(by, received, bytes_of(from), timeout);
                     for (std::size_t i = 0; i < to.size(); ++i) copy_bytes(to[i], received[i]);
                 },
                 opts.timeout, inputs});
}

NcclBackend::WorkPtr NcclBackend::send(Tensors& tensors, int to, int /*tag*/) {
    return message(OpType::SEND, tensors, to);
}

NcclBackend::WorkPtr NcclBackend::recv(Tensors& tensors, int from, int /*tag*/) {
    return message(OpType::RECV, tensors, from);
}

NcclBackend::WorkPtr NcclBackend::recvAnysource(Tensors& /*tensors*/, int /*tag*/) {
    C10_THROW_ERROR(NotImplementedError, "ProcessGroupNCCL does not support recvAnysource");
}

NcclBackend::WorkPtr NcclBackend::barrier(const c10d::BarrierOptions& opts) {
    Call call;
    call.type = OpType::BARRIER;
    call.device = device_for_barrier(opts);
    return post({call, {}, [](const Transfers&, Timeout) {}, opts.timeout, {}});
}

}  // namespace compat::shim::simulate
