#include "simulate/nccl/work.h"

#include <ATen/core/ivalue_inl.h>
#include <ATen/core/jit_type.h>

#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <utility>

#include "simulate/nccl/errors.h"
#include "simulate/nccl/lane.h"

namespace compat::shim::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

milliseconds since(steady_clock::time_point begin) {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

}  // namespace

NcclWork::NcclWork(Origin origin, Call call, const std::string& title,
                   const std::vector<at::Tensor>& inputs, std::vector<at::Tensor> outputs,
                   int parts, std::vector<int> waits_for)
    : Work(origin.rank, call.type, title.c_str(), inputs),
      origin_(std::move(origin)),
      call_(std::move(call)),
      outputs_(std::move(outputs)),
      waits_for_(std::move(waits_for)),
      begun_(steady_clock::now()),
      parts_left_(parts) {}

bool NcclWork::wait(milliseconds timeout) {
    RECORD_PARAM_COMMS(
        std::make_tuple(static_cast<std::int64_t>(call_.number), is_message(call_.type)),
        std::make_tuple(origin_.group, origin_.description), rank_, "wait", 0, 0, at::kByte,
        std::vector<std::int64_t>(), std::vector<std::int64_t>(), -1, -1,
        static_cast<int>(origin_.global.size()));
    wait_until_end(timeout);
    return true;
}

void NcclWork::wait_until_end(milliseconds timeout) {
    std::unique_lock lock(mutex_);
    if (!completed_) {
        waiting_since_ = age().count();
        if (timeout == kNoTimeout) {
            cv_.wait(lock, [&] { return completed_; });
        } else if (!cv_.wait_for(lock, timeout, [&] { return completed_; })) {
            waiting_since_ = -1;
            lock.unlock();
            time_out(timeout_text(since(begun_)));
            lock.lock();
        }
        waiting_since_ = -1;
    }
    if (exception_) std::rethrow_exception(exception_);
    lock.unlock();
    drop_handed_over();
}

void NcclWork::release_resources() {
    outputs_.clear();
    future_.reset();
}

void NcclWork::wait_for_end() {
    try {
        wait_until_end();
    } catch (const c10::Error&) {
    }
}

void NcclWork::time_out(const std::string& text) {
    *origin_.aborted = true;
    fail(backend_error(text));
}

void NcclWork::abort() { fail(aborted_error(origin_.rank)); }

float NcclWork::getDuration() const {
    const std::lock_guard lock(mutex_);
    TORCH_CHECK(completed_, "getDuration only works if the work has ended");
    return std::chrono::duration<float, std::milli>(ended_ - begun_).count();
}

void NcclWork::end(std::exception_ptr error) {
    {
        const std::lock_guard lock(mutex_);
        if (completed_) return;  // the watchdog has ended it
        if (error && !first_error_) first_error_ = error;
        if (--parts_left_ > 0) return;
        ended_ = steady_clock::now();
    }
    finish(first_error_);
}

void NcclWork::fail(std::exception_ptr error) {
    {
        const std::lock_guard lock(mutex_);
        if (completed_) return;
        parts_left_ = 0;
        first_error_ = error;
        ended_ = steady_clock::now();
    }
    finish(error);
}

// With NCCL a future is complete when its call has been enqueued, and callbacks run in the caller's
// thread, where they may start collectives: in the same order on all ranks.
c10::intrusive_ptr<c10::ivalue::Future> NcclWork::getFuture() {
    wait_for_end();
    const std::lock_guard lock(future_mutex_);
    if (!future_) {
        std::vector<c10::Device> devices;
        if (!outputs_.empty()) devices.push_back(outputs_.front().device());
        future_ = c10::make_intrusive<c10::ivalue::Future>(
            c10::ListType::create(c10::TensorType::get()), devices);
        exception_ ? future_->setError(exception_) : future_->markCompleted(c10::IValue(outputs_));
    }
    return future_;
}

milliseconds NcclWork::age() const { return since(begun_); }

std::optional<milliseconds> NcclWork::waited() const {
    const std::int64_t begin = waiting_since_;
    if (begin < 0) return std::nullopt;
    return age() - milliseconds(begin);
}

std::string NcclWork::text() const {
    return "WorkNCCL(SeqNum=" + std::to_string(call_.number) +
           ", OpType=" + c10d::opTypeToString(call_.type) +
           ", NumelIn=" + std::to_string(call_.sent) +
           ", NumelOut=" + std::to_string(call_.received) +
           ", Timeout(ms)=" + std::to_string(origin_.timeout.count()) + ")";
}

std::string NcclWork::timeout_text(milliseconds ran) const {
    return "[Rank " + std::to_string(origin_.rank) +
           "] Watchdog caught collective operation timeout: " + text() + " ran for " +
           std::to_string(ran.count()) + " milliseconds before timing out.";
}

}  // namespace compat::shim::simulate
