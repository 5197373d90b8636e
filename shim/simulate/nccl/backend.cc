// How calls of a group are numbered, compared, started and ended. Each collective's tensors are in
// collectives.cc.
#include "simulate/nccl/backend.h"

#include <ATen/Functions.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <numeric>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>

#include "record/recorder.h"
#include "simulate/nccl/errors.h"
#include "simulate/nccl/fault.h"
#include "simulate/nccl/host.h"
#include "simulate/nccl/watchdog.h"

namespace compat::shim::simulate {
namespace {

using c10d::OpType;
using std::chrono::milliseconds;

constexpr milliseconds kNcclTimeout(10 * 60 * 1000);
// gloo's own time-out is later by this, so that the watchdog comes first.
constexpr milliseconds kLater(30 * 1000);

// The job's group, which has all ranks, has no list of them.
std::vector<std::uint64_t> global_ranks(const NcclOptions& options, int size) {
    if (!options.global_ranks_in_group.empty()) return options.global_ranks_in_group;
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

std::atomic<std::uint64_t> groups{0};

// Whether wait() raises on a time-out, which otherwise ends the process. ProcessGroupNCCL's
// variables decide.
bool raises_timeouts() {
    enum : int { no_handling = 0, clean_up_only = 2, skip_clean_up = 3 };
    const int handling = c10d::getCvarInt(
        {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"}, skip_clean_up);
    return c10d::getCvarBool({"TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"}, false) ||
           handling == no_handling || handling == clean_up_only;
}

at::Tensor packed_bytes(const Call& call, int ranks) {
    const std::vector<std::uint8_t> bytes = packed(call, ranks);
    at::Tensor tensor = new_bytes(static_cast<std::int64_t>(bytes.size()));
    std::copy(bytes.begin(), bytes.end(), tensor.data_ptr<std::uint8_t>());
    return tensor;
}

// Tells the other ranks this rank's call before its bytes are moved. It is sent when the call is
// made, so that it has often arrived when the call's turn comes.
class Announcement {
  public:
    Announcement(const Transfers& by, const Call& call) : ranks_(by.ranks()) {
        const at::Tensor mine = packed_bytes(call, ranks_);
        size_ = mine.numel();
        all_ = new_bytes(size_ * ranks_);
        try {
            pending_ = by.start_all_gather(all_, mine, Tag::call);
        } catch (...) {
            error_ = std::current_exception();
        }
    }

    [[nodiscard]] std::vector<Call> of_all(milliseconds timeout) const {
        if (error_) std::rethrow_exception(error_);
        pending_.wait(timeout);
        std::vector<Call> calls;
        for (int rank = 0; rank < ranks_; ++rank)
            calls.push_back(unpacked(all_.data_ptr<std::uint8_t>() + rank * size_, ranks_));
        return calls;
    }

  private:
    int ranks_;
    std::int64_t size_;
    at::Tensor all_;
    Pending pending_;
    std::exception_ptr error_;  // raised when the call's turn comes
};

// A connection broke: a rank has ended, perhaps because it was in a deadlock with this one.
std::exception_ptr broken(const Call& call, std::string_view why) {
    const std::string deadlock = Watchdog::instance().deadlock_text();
    return deadlock.empty() ? remote_error(described(call) + " " + place(call), why)
                            : backend_error(deadlock);
}

// Throws if the work has timed out or its group is aborted, so that no more bytes are moved for it.
void check_not_aborted(NcclWork& work) {
    if (work.isCompleted() || work.origin().cancellation->cancelled())
        std::rethrow_exception(aborted_error(work.origin().rank));
}

// Runs a part of the work that needs `ranks`. Its errors become the work's.
template <class Hook, class Part>
void run_part(const c10::intrusive_ptr<NcclWork>& work, const Call& call,
              const std::vector<int>& ranks, const Hook& hook, Part part) {
    using Clock = decltype(c10d::WorkInfo::timeStarted)::clock;  // not the same in all releases
    const auto begun = Clock::now();
    try {
        check_not_aborted(*work);
        part();
        if (hook) {
            const auto ended = Clock::now();
            (*hook)(std::make_shared<c10d::WorkInfo>(call.type, call.number, begun, ended,
                                                     ended - begun));
        }
        Watchdog::instance().clear_deadlock();
        work->end(ranks);
    } catch (const ConnectionBroken& error) {
        work->end(ranks, work->origin().cancellation->cancelled()
                             ? aborted_error(work->origin().rank)
                             : broken(call, error.what()));
    } catch (const std::exception&) {
        work->end(ranks, std::current_exception());
    }
}

}  // namespace

// Messages of a rank to itself.
struct NcclBackend::Mailbox {
    std::mutex mutex;
    std::condition_variable arrived;
    std::deque<std::pair<Call, at::Tensor>> messages;

    void put(Call call, at::Tensor bytes) {
        const std::lock_guard lock(mutex);
        messages.emplace_back(std::move(call), std::move(bytes));
        arrived.notify_one();
    }
    // Throws if `work` ends before.
    std::pair<Call, at::Tensor> take(NcclWork& work) {
        std::unique_lock lock(mutex);
        while (!arrived.wait_for(lock, milliseconds(50), [&] { return !messages.empty(); }))
            check_not_aborted(work);
        auto message = std::move(messages.front());
        messages.pop_front();
        return message;
    }
};

NcclOptions::NcclOptions(bool high_priority)
    : Options("nccl", kNcclTimeout), is_high_priority_stream(high_priority) {}

NcclBackend::NcclBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size,
                         c10::intrusive_ptr<NcclOptions> options, MakeGloo make_gloo)
    : Backend(rank, size),
      make_gloo_(std::move(make_gloo)),
      store_(std::move(store)),
      options_(std::move(options)),
      global_ranks_(global_ranks(*options_, size)),
      blocking_(raises_timeouts()),
      uid_(groups++),
      mailbox_(std::make_shared<Mailbox>()) {
    transfers_ = connect();
    reclaim_memory_by(&drop_handed_over);
    if (auto* parent = dynamic_cast<NcclBackend*>(options_->split_from.get())) ++parent->splits_;
    // The job's own group, which torch names.
    if (!options_->global_ranks_in_group.empty() || options_->group_name.empty()) return;
    job_store_ = store_->clone();
    Watchdog::instance().join_job(job_store_, static_cast<std::uint64_t>(rank),
                                  static_cast<std::uint64_t>(size));
}

NcclBackend::~NcclBackend() { Watchdog::instance().leave_job(job_store_); }

void NcclBackend::eagerConnectSingleDevice(c10::Device device) {
    const std::lock_guard lock(mutex_);
    used_devices_.insert(device.index());
}

bool NcclBackend::is_initialized() const { return used_device().has_value(); }

std::optional<c10::DeviceIndex> NcclBackend::used_device() const {
    const std::lock_guard lock(mutex_);
    if (used_devices_.empty()) return std::nullopt;
    return *used_devices_.begin();
}

std::size_t NcclBackend::connected_peers() const {
    const std::lock_guard lock(mutex_);
    return connected_.size();
}

std::uint64_t NcclBackend::getSequenceNumberForGroup() {
    const std::lock_guard lock(mutex_);
    return calls_;
}

NcclWork::Origin NcclBackend::origin(Timeout timeout) const {
    return {rank_,   group_name(), pg_desc_,      global_ranks_,
            timeout, blocking_,    cancellation_, error_};
}

std::string NcclBackend::group_name() const {
    return options_->group_name.empty() ? "0" : options_->group_name;
}

std::uint64_t NcclBackend::global(int rank) const {
    return global_ranks_[static_cast<std::size_t>(rank)];
}

std::vector<int> NcclBackend::required_ranks(const Call& call) const {
    return is_message(call.type) ? std::vector<int>{call.root} : transfers_->others();
}

c10::intrusive_ptr<NcclWork> NcclBackend::new_work(const Job& job, Tensors outputs,
                                                   const std::vector<std::vector<int>>& parts) {
    const std::string title = job.title.empty() ? profiler_title(job.call, rank_) : job.title;
    auto work = c10::make_intrusive<NcclWork>(origin(job.timeout), job.call, title, job.inputs,
                                              std::move(outputs), parts);
    std::erase_if(pending_, [](const WatchedWork& each) { return each.holders->none(); });
    pending_.push_back({c10::weak_intrusive_ptr<NcclWork>(work), work->holders()});
    Watchdog::instance().watch(work);
    return work;
}

NcclBackend::WorkPtr NcclBackend::post(Job job) {
    if (const auto device = used_device(); device && has_one_device())
        TORCH_CHECK(*device == job.call.device,
                    "ProcessGroupNCCL is bound to device cuda:", static_cast<int>(*device),
                    " but an operation was issued on cuda:", static_cast<int>(job.call.device));
    auto& recorder = Recorder::instance();
    job.call.line = recorder.users_line();
    job.call.physical = physical_device(job.call.device);
    if (job.call.root >= 0) job.call.root_in_job = global(job.call.root);
    if (job.timeout == c10d::kUnsetTimeout) job.timeout = options_->timeout;
    const Call call = job.call;
    drop_handed_over();
    if (meet_fault(global(rank_), call)) {
        auto dropped = c10::make_intrusive<NcclWork>(
            origin(job.timeout), call, profiler_title(call, rank_), job.inputs,
            std::move(job.outputs), std::vector<std::vector<int>>{{}});
        dropped->end({});
        dropped->holders()->leave();
        return dropped;
    }
    recorder.note_collective(collective_name(call.type), group_name(), size_,
                             static_cast<std::uint64_t>(std::max(call.sent, call.received)) *
                                 c10::elementSize(call.dtype));

    const std::lock_guard lock(mutex_);
    if (cancellation_->cancelled()) std::rethrow_exception(aborted_error(rank_));
    used_devices_.insert(call.device);
    job.timeout += extension();
    job.extensions = std::exchange(new_extensions_, {});
    const bool message = is_message(call.type);
    job.call.number = message ? ++messages_[{call.root, call.type}] : ++calls_;
    if (coalescing_) {
        coalesced_.push_back(std::move(job));
        return {};
    }
    if (message) connected_.insert(call.root);
    RECORD_PARAM_COMMS_DATA(std::make_tuple(static_cast<std::int64_t>(job.call.number), message),
                            std::make_tuple(group_name(), pg_desc_), job.inputs, job.outputs, rank_,
                            param_name(call.type), call.sent, call.received, call.dtype,
                            std::vector<std::int64_t>(), std::vector<std::int64_t>(),
                            static_cast<int>(global(0)), static_cast<int>(global_stride()), size_);
    auto work = new_work(job, job.outputs, {required_ranks(job.call)});
    start(std::move(job), work);
    return work;
}

void NcclBackend::addEphemeralTimeout(const milliseconds& timeout) {
    const std::lock_guard lock(mutex_);
    extensions_.push_back(new_extensions_.emplace_back(std::make_shared<const Timeout>(timeout)));
}

// A call that has ended holds none, once the program's thread has dropped it.
milliseconds NcclBackend::extension() {
    std::erase_if(extensions_, [](const auto& each) { return each.expired(); });
    milliseconds sum(0);
    for (const auto& each : extensions_)
        if (const auto goes_on = each.lock()) sum += *goes_on;
    return sum;
}

// The distance between neighbours' global ranks; -1 if distances differ.
std::int64_t NcclBackend::global_stride() const {
    if (size_ == 1) return 1;
    const auto stride = static_cast<std::int64_t>(global(1) - global(0));
    for (int rank = 2; rank < size_; ++rank)
        if (static_cast<std::int64_t>(global(rank) - global(rank - 1)) != stride) return -1;
    return stride;
}

// Call with the mutex held, so that calls are numbered in the order in which their threads run
// them.
void NcclBackend::start(Job job, const c10::intrusive_ptr<NcclWork>& work) {
    const bool message = is_message(job.call.type);
    if (message)
        start_message(std::move(job), work);
    else
        start_collective(std::move(job), work);
}

void NcclBackend::start_collective(Job job, const c10::intrusive_ptr<NcclWork>& work) {
    Announcement announcement(*transfers_, job.call);
    lane_.post(
        [job = std::move(job), announcement = std::move(announcement), work, by = transfers_,
         in_job = global_ranks_, hook = hook_] {
            run_part(work, job.call, by->others(), hook, [&] {
                const Timeout timeout = job.timeout + kLater;
                check_agreement(announcement.of_all(timeout), in_job);
                check_not_aborted(*work);
                job.body(*by, timeout);
            });
        },
        [holders = work->holders()] { holders->leave(); });
}

void NcclBackend::start_message(Job job, const c10::intrusive_ptr<NcclWork>& work) {
    const int peer = job.call.root;
    const bool sends = job.call.type == OpType::SEND;
    message_lanes_[{peer, job.call.type}].post(
        [job = std::move(job), work, by = transfers_, mailbox = mailbox_, peer, sends, rank = rank_,
         self = global(rank_), other = global(peer), hook = hook_] {
            run_part(work, job.call, {peer}, hook, [&] {
                const Timeout timeout = job.timeout + kLater;
                const at::Tensor bytes = host_bytes(job.outputs.front());
                const auto send = [&](const at::Tensor& what) {
                    by->send(what, peer, Tag::message, timeout);
                };
                const auto receive = [&](const at::Tensor& what) {
                    check_not_aborted(*work);
                    by->receive(what, peer, Tag::message, timeout);
                };
                if (sends) {
                    if (peer == rank) return mailbox->put(job.call, bytes.clone());
                    send(packed_bytes(job.call, 0));
                    send(bytes);
                    return;
                }
                if (peer == rank) {
                    const auto [call, content] = mailbox->take(*work);
                    check_message(call, job.call, other, self);
                    bytes.copy_(content);
                    return;
                }
                const at::Tensor head = new_bytes(static_cast<std::int64_t>(packed_size(0)));
                receive(head);
                const Call call = unpacked(head.data_ptr<std::uint8_t>(), 0);
                if (call.sent != job.call.received || call.dtype != job.call.dtype) {
                    // Else its bytes would be taken for the next message's.
                    receive(new_bytes(call.sent *
                                      static_cast<std::int64_t>(c10::elementSize(call.dtype))));
                    check_message(call, job.call, other, self);
                }
                receive(bytes);
            });
        },
        [holders = work->holders()] { holders->leave(); });
}

NcclBackend::WorkPtr NcclBackend::message(OpType type, Tensors& tensors, int peer) {
    const at::Tensor& tensor = only(tensors);
    TORCH_CHECK_WITH(ValueError, peer >= 0 && peer < size_, "Invalid rank ", peer);
    check_tensor(tensor, !has_one_device());
    check_dtype(tensor.is_complex() ? at::kFloat : tensor.scalar_type());
    Call call = call_of(type, tensor, tensor);
    call.root = peer;
    return post({std::move(call), {tensor}, nullptr, c10d::kUnsetTimeout, {tensor}});
}

Call NcclBackend::call_of(OpType type, const at::Tensor& sent, const at::Tensor& received) {
    Call call;
    call.type = type;
    call.dtype = sent.scalar_type();
    call.device = sent.device().index();
    call.sent = sent.numel();
    call.received = received.numel();
    return call;
}

void NcclBackend::startCoalescing() {
    const std::lock_guard lock(mutex_);
    coalescing_ = true;
}

NcclBackend::WorkPtr NcclBackend::endCoalescing() {
    const std::lock_guard lock(mutex_);
    coalescing_ = false;
    std::vector<Job> jobs = std::exchange(coalesced_, {});
    if (jobs.empty()) return {};
    Job whole = jobs.front();
    whole.inputs.clear();
    Tensors outputs;
    std::vector<std::vector<int>> parts;
    for (const Job& job : jobs) {
        whole.inputs.insert(whole.inputs.end(), job.inputs.begin(), job.inputs.end());
        outputs.insert(outputs.end(), job.outputs.begin(), job.outputs.end());
        parts.push_back(required_ranks(job.call));
    }
    if (jobs.size() > 1) whole.call.type = OpType::COALESCED;
    whole.title = "nccl:coalesced";
    auto work = new_work(whole, std::move(outputs), parts);
    for (Job& job : jobs) start(std::move(job), work);
    return work;
}

c10::DeviceIndex NcclBackend::device_for_barrier(const c10d::BarrierOptions& opts) const {
    const auto first = used_device();
    if (first && has_one_device()) return *first;
    if (!opts.device_ids.empty()) return static_cast<c10::DeviceIndex>(opts.device_ids.front());
    if (bound_device_id_) return bound_device_id_->index();
    if (first) return *first;
    const auto* guard = c10::impl::getDeviceGuardImpl(c10::kCUDA);
    return static_cast<c10::DeviceIndex>(global(rank_) % std::max<int>(1, guard->deviceCount()));
}

void NcclBackend::registerOnCompletionHook(
    std::function<void(std::shared_ptr<c10d::WorkInfo>)>&& hook) {
    const std::lock_guard lock(mutex_);
    TORCH_CHECK_WITH(DistBackendError, !onCompletionHook_,
                     "ProcessGroupNCCL OnCompletion hook already registered");
    hook_ = std::make_shared<const Hook>(std::move(hook));
    onCompletionHook_ = [shared = hook_](std::shared_ptr<c10d::WorkInfo> info) { (*shared)(info); };
}

std::vector<c10::intrusive_ptr<NcclWork>> NcclBackend::pending_works() const {
    std::vector<c10::intrusive_ptr<NcclWork>> works;
    for (const WatchedWork& each : pending_)
        if (auto work = each.work.lock()) works.push_back(std::move(work));
    return works;
}

bool NcclBackend::any_pending() const {
    const std::lock_guard lock(mutex_);
    return std::ranges::any_of(pending_, [](const auto& each) { return !each.holders->none(); });
}

void NcclBackend::waitForPendingWorks() {
    std::vector<c10::intrusive_ptr<NcclWork>> works;
    {
        const std::lock_guard lock(mutex_);
        works = pending_works();
    }
    for (const auto& work : works) work->wait_for_end();
}

void NcclBackend::abort() {
    std::vector<c10::intrusive_ptr<NcclWork>> works;
    {
        const std::lock_guard lock(mutex_);
        cancellation_->cancel();
        works = pending_works();
        pending_.clear();
    }
    for (const auto& work : works) {
        work->fail_and_abort_group(aborted_error(rank_));
        work->holders()->wait_until_none();
    }
    Watchdog::instance().leave_job(job_store_);
    drop_handed_over();
}

void NcclBackend::shutdown() {
    NcclBackend::waitForPendingWorks();
    abort();
}

}  // namespace compat::shim::simulate
