// torch.distributed's backend "nccl" on simulated CUDA devices. It has the tensors, errors and
// handles of ProcessGroupNCCL, and computes values on the host with gloo.
// docs/design/0009-distributed.md says why, and where it differs.
//
// Ranks first compare their calls (call.h), then move bytes (transfers.h) on a thread of the group,
// one call after the other. Messages have a thread for each peer and direction. The program goes on
// until it waits for the handle.
//
// Members without `override` are virtual in some versions of torch only.
#pragma once

#include <c10/util/Exception.h>

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>
#include <vector>

#include "simulate/nccl/lane.h"
#include "simulate/nccl/transfers.h"
#include "simulate/nccl/work.h"

namespace compat::shim::simulate {

// The fields of ncclConfig_t, with the value that NCCL's own initializer has for "not set".
struct NcclConfig {
    static constexpr int kUnset = std::numeric_limits<int>::min();

    int blocking = kUnset, cga_cluster_size = kUnset, min_ctas = kUnset, max_ctas = kUnset,
        split_share = kUnset, traffic_class = kUnset, collnet_enable = kUnset, cta_policy = kUnset,
        shrink_share = kUnset, nvls_ctas = kUnset, n_channels_per_net_peer = kUnset;
    std::optional<std::string> net_name, comm_name;
};

// The fields of ProcessGroupNCCL.Options. Those without effect on simulated devices are stored and
// returned.
struct NcclOptions final : c10d::Backend::Options {
    explicit NcclOptions(bool high_priority = false);

    bool is_high_priority_stream;
    NcclConfig config;
    c10::intrusive_ptr<c10d::Backend> split_from;
    int split_color = -1;
    bool lazy_init = false;

    c10::intrusive_ptr<Options> clone() const { return c10::make_intrusive<NcclOptions>(*this); }
};

class NcclBackend : public c10d::Backend {
  public:
    using WorkPtr = c10::intrusive_ptr<c10d::Work>;
    using StorePtr = c10::intrusive_ptr<c10d::Store>;
    using OptionsPtr = c10::intrusive_ptr<c10d::Backend::Options>;
    using Tensors = std::vector<at::Tensor>;
    // Makes a gloo group for these ranks, when all have called it. Called with or without the GIL.
    // Throws std::runtime_error after `timeout`.
    using MakeGloo = std::function<c10::intrusive_ptr<c10d::Backend>(
        const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
        std::chrono::milliseconds timeout)>;

    // Waits for the other ranks. Throws c10::DistBackendError if they do not come in time.
    NcclBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                c10::intrusive_ptr<NcclOptions> options, MakeGloo make_gloo);
    ~NcclBackend() override;

    const std::string getBackendName() const override { return "nccl"; }
    c10::intrusive_ptr<c10d::Backend::Options> getBackendOptions() { return options_; }
    [[nodiscard]] const c10::intrusive_ptr<NcclOptions>& options() const { return options_; }
    bool supportsCoalescing() const { return true; }
    bool supportsSplitting() const { return true; }
    bool supportsShrinking() const { return true; }
    void setTimeout(std::chrono::milliseconds timeout) { options_->timeout = timeout; }
    // Later calls have this much longer, until the first of them has ended.
    void addEphemeralTimeout(const std::chrono::milliseconds& timeout);
    void setSequenceNumberForGroup() override {}
    std::uint64_t getSequenceNumberForGroup() override;
    c10d::ErrorType getError() { return *error_; }
    void enableCollectivesTiming() {}
    void eagerConnectSingleDevice(c10::Device device);
    [[nodiscard]] bool is_initialized() const;
    bool isInitialized() { return is_initialized(); }
    [[nodiscard]] std::uint64_t splits() const { return splits_; }
    // The number of ranks with which this one has exchanged messages outside a batch.
    [[nodiscard]] std::size_t connected_peers() const;
    // Groups of this process are numbered from 0.
    [[nodiscard]] std::uint64_t uid() const { return uid_; }
    c10::intrusive_ptr<c10d::Backend> split(const StorePtr& store, const std::vector<int>& ranks,
                                            const OptionsPtr& opts);
    // The group of the other ranks, which all call this; those that are left out need not live.
    // With flags 1 (SHRINK_ABORT) calls that are under way end with an error.
    c10::intrusive_ptr<c10d::Backend> shrink(const std::vector<std::int64_t>& left_out, int flags,
                                             const OptionsPtr& opts);
    // Calls `hook` for each call that has ended without an error, in the thread that ran it.
    void registerOnCompletionHook(std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook);
    // Waits for all posted calls, and for their hooks.
    void waitForPendingWorks();
    // Ends pending calls with an error; later ones raise.
    void abort();
    // Waits until all posted calls have ended, by themselves or by their time-outs, then aborts.
    void shutdown();

    WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
    WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
    WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts);
    WorkPtr allreduce_coalesced(Tensors& tensors,
                                const c10d::AllreduceCoalescedOptions& opts) override;
    WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
    WorkPtr allgather(std::vector<Tensors>& outputs, Tensors& inputs,
                      const c10d::AllgatherOptions& opts) override;
    WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input,
                            const c10d::AllgatherOptions& opts) override;
    WorkPtr allgather_coalesced(std::vector<Tensors>& outputs, Tensors& inputs,
                                const c10d::AllgatherOptions& opts) override;
    WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::AllgatherOptions& opts);
    WorkPtr gather(std::vector<Tensors>& outputs, Tensors& inputs,
                   const c10d::GatherOptions& opts) override;
    WorkPtr gather_single(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& opts);
    WorkPtr scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                    const c10d::ScatterOptions& opts) override;
    WorkPtr reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                           const c10d::ReduceScatterOptions& opts) override;
    WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                 const c10d::ReduceScatterOptions& opts) override;
    WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                            const c10d::ReduceScatterOptions& opts);
    WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input,
                          std::vector<std::int64_t>& output_splits,
                          std::vector<std::int64_t>& input_splits,
                          const c10d::AllToAllOptions& opts) override;
    WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
    WorkPtr send(Tensors& tensors, int to, int tag) override;
    WorkPtr recv(Tensors& tensors, int from, int tag) override;
    WorkPtr recvAnysource(Tensors& tensors, int tag) override;
    WorkPtr barrier(const c10d::BarrierOptions& opts) override;
    // Between these two functions, calls do not start; then all start at once, as one work.
    void startCoalescing();
    WorkPtr endCoalescing();

  protected:
    // Waits for calls that are under way, or ends them.
    virtual void before_shrink(int flags);
    [[nodiscard]] bool any_pending() const;
    // Whether all calls must be on one device, and messages without gaps.
    [[nodiscard]] virtual bool has_one_device() const { return false; }
    // The device that calls have, or to which the group is connected; the lowest of several.
    [[nodiscard]] std::optional<c10::DeviceIndex> used_device() const;
    // A group for a part of this group's ranks.
    virtual c10::intrusive_ptr<NcclBackend> new_group(c10::intrusive_ptr<c10d::Store> store,
                                                      int rank, int size,
                                                      c10::intrusive_ptr<NcclOptions> options) {
        return c10::make_intrusive<NcclBackend>(store, rank, size, options, make_gloo_);
    }
    MakeGloo make_gloo_;

  private:
    using Timeout = Transfers::Timeout;
    // Moves the bytes, after the ranks have agreed on the call.
    using Body = std::function<void(const Transfers& by, Timeout timeout)>;
    struct Job {
        Call call;
        Tensors outputs;
        Body body;
        Timeout timeout;
        // For the profiler. An empty title means the title of the call's type.
        Tensors inputs = {};
        std::string title = {};
        std::vector<std::shared_ptr<const Timeout>> extensions = {};  // that end with this call
    };
    struct Mailbox;  // messages to itself
    using Hook = std::function<void(std::shared_ptr<c10d::WorkInfo>)>;

    [[nodiscard]] Call call_of(c10d::OpType type, const at::Tensor& sent,
                               const at::Tensor& received);
    [[nodiscard]] c10::DeviceIndex device_for_barrier(const c10d::BarrierOptions& opts) const;
    WorkPtr post(Job job);
    WorkPtr message(c10d::OpType type, Tensors& tensors, int peer);
    // The handle of `job` and of the jobs that are coalesced with it. Each job is a part of the
    // handle and needs these ranks.
    [[nodiscard]] c10::intrusive_ptr<NcclWork> new_work(const Job& job, Tensors outputs,
                                                        const std::vector<std::vector<int>>& parts);
    [[nodiscard]] std::vector<int> required_ranks(const Call& call) const;
    // The gloo group, when all of its ranks have connected.
    [[nodiscard]] std::shared_ptr<const Transfers> connect();
    // The sum of the extensions that have not ended. Call with the mutex held.
    [[nodiscard]] Timeout extension();
    void start(Job job, const c10::intrusive_ptr<NcclWork>& work);
    void start_collective(Job job, const c10::intrusive_ptr<NcclWork>& work);
    void start_message(Job job, const c10::intrusive_ptr<NcclWork>& work);
    // Call with the mutex held. Drop the result without the mutex: the last reference needs the
    // GIL.
    [[nodiscard]] std::vector<c10::intrusive_ptr<NcclWork>> pending_works() const;
    [[nodiscard]] NcclWork::Origin origin(Timeout timeout) const;
    [[nodiscard]] std::string group_name() const;
    [[nodiscard]] std::uint64_t global(int rank) const;
    [[nodiscard]] std::int64_t global_stride() const;

    c10::intrusive_ptr<c10d::Store> store_;
    c10::intrusive_ptr<c10d::Store> job_store_;  // the watchdog's, of the job's own group
    c10::intrusive_ptr<NcclOptions> options_;
    std::shared_ptr<const Transfers> transfers_;
    std::vector<std::uint64_t> global_ranks_;
    const bool blocking_;

    const std::uint64_t uid_;
    const std::shared_ptr<Cancellation> cancellation_ = std::make_shared<Cancellation>();
    const std::shared_ptr<std::atomic<c10d::ErrorType>> error_ =
        std::make_shared<std::atomic<c10d::ErrorType>>(c10d::ErrorType::SUCCESS);
    mutable std::mutex mutex_;
    bool coalescing_ = false;
    std::vector<Job> coalesced_;
    std::vector<WatchedWork> pending_;
    std::set<c10::DeviceIndex> used_devices_;
    std::set<int> connected_;
    std::uint64_t calls_ = 0;
    std::atomic<std::uint64_t> splits_ = 0;
    std::map<std::pair<int, c10d::OpType>, std::uint64_t> messages_;
    std::vector<std::shared_ptr<const Timeout>> new_extensions_;  // since the last call
    std::vector<std::weak_ptr<const Timeout>> extensions_;        // all
    Lane lane_;
    std::map<std::pair<int, c10d::OpType>, Lane> message_lanes_;
    std::shared_ptr<Mailbox> mailbox_;
    std::shared_ptr<const Hook> hook_;  // shared: a copy of a Python function would need the GIL
};

// Newer torch has two more classes: in 2.15 "nccl" is `nccl2`, unless TORCH_DIST_USE_NCCL2 is 0,
// and `nccl_lazy` connects two ranks when they first exchange a message. They differ from the first
// in work that a GPU does, so here they differ in little but their names and in what they refuse.
enum class NcclKind { nccl2, nccl_lazy };

template <NcclKind kind>
class NcclBackendOf final : public NcclBackend {
    static constexpr bool kLazy = kind == NcclKind::nccl_lazy;

  public:
    using NcclBackend::NcclBackend;
    const std::string getBackendName() const override { return kLazy ? "nccl-lazy" : "nccl2"; }
    bool supportsSplitting() const { return !options()->lazy_init || is_initialized(); }
    bool supportsShrinking() const { return !kLazy; }

    // Torch's base class refuses what these classes lack.
    WorkPtr recvAnysource(Tensors& tensors, int tag) override {
        return Backend::recvAnysource(tensors, tag);
    }
    void registerOnCompletionHook(std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook) {
        Backend::registerOnCompletionHook(std::move(hook));
    }
    void waitForPendingWorks() { Backend::waitForPendingWorks(); }
    std::uint64_t getSequenceNumberForGroup() override {
        return kLazy ? Backend::getSequenceNumberForGroup()
                     : NcclBackend::getSequenceNumberForGroup();
    }
    void enableCollectivesTiming() {
        if constexpr (kLazy) Backend::enableCollectivesTiming();
    }

  protected:
    bool has_one_device() const override { return true; }
    void before_shrink(int flags) override {
        TORCH_CHECK(flags != 0 || !any_pending(),
                    "NCCL communicator cannot shrink while work is pending");
        if (flags != 0) abort();
    }
    // A part has this group's device. A part of a lazy group connects at once.
    c10::intrusive_ptr<NcclBackend> new_group(c10::intrusive_ptr<c10d::Store> store, int rank,
                                              int size,
                                              c10::intrusive_ptr<NcclOptions> options) override {
        auto part = c10::make_intrusive<NcclBackendOf<NcclKind::nccl2>>(store, rank, size, options,
                                                                        make_gloo_);
        if (const auto device = used_device())
            part->eagerConnectSingleDevice({c10::kCUDA, *device});
        return part;
    }
};

}  // namespace compat::shim::simulate
