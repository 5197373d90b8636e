#include "simulate/nccl/work.h"

#include <ATen/core/ivalue_inl.h>
#include <ATen/core/jit_type.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <torch/csrc/distributed/c10d/ParamCommsUtils.hpp>
#include <utility>

#include "simulate/nccl/errors.h"

namespace compat::shim::simulate {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

milliseconds since(steady_clock::time_point begin) {
    return std::chrono::duration_cast<milliseconds>(steady_clock::now() - begin);
}

// Threads that torch made, such as autograd's, are not Python's.
bool only_thread_of_python() {
    if (Py_IsInitialized() == 0) return true;
    const pybind11::gil_scoped_acquire locked;
    try {
        return pybind11::module_::import("threading").attr("active_count")().cast<int>() <= 1;
    } catch (const pybind11::error_already_set&) {
        return false;
    }
}

bool python_runs() {
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
    return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

// Runs on a thread that holds no call, so that callbacks may wait for any call.
void complete_soon(c10::intrusive_ptr<c10::ivalue::Future> future, c10d::WorkResult result) {
    static auto* const lane = new Lane();  // our threads outlive statics
    lane->post(
        [future = std::move(future), result] {
            if (python_runs()) future->markCompleted(static_cast<std::int64_t>(result));
        },
        [] {});
}

}  // namespace

NcclWork::NcclWork(Origin origin, Call call, const std::string& title,
                   const std::vector<at::Tensor>& inputs, std::vector<at::Tensor> outputs,
                   const std::vector<std::vector<int>>& parts)
    : Work(origin.rank, call.type, title.c_str(), inputs),
      origin_(std::move(origin)),
      call_(std::move(call)),
      outputs_(std::move(outputs)),
      begun_(steady_clock::now()),
      parts_left_(static_cast<int>(parts.size())),
      holders_(std::make_shared<Holders>(parts_left_)) {
    for (const auto& ranks : parts) waits_for_.insert(waits_for_.end(), ranks.begin(), ranks.end());
    for (const auto* tensors : {&inputs, &std::as_const(outputs_)})
        for (const at::Tensor& tensor : *tensors) in_use_.emplace_back(tensor);
}

bool NcclWork::wait(milliseconds timeout) {
    RECORD_PARAM_COMMS(
        std::make_tuple(static_cast<std::int64_t>(call_.number), is_message(call_.type)),
        std::make_tuple(origin_.group, origin_.description), rank_, "wait", 0, 0, at::kByte,
        std::vector<std::int64_t>(), std::vector<std::int64_t>(), -1, -1,
        static_cast<int>(origin_.global.size()));
    wait_until_end(timeout);
    return true;
}

// torch calls some callers of this function with the GIL held, and a hook of another thread may
// need the GIL.
void NcclWork::wait_until_end(milliseconds timeout) {
    std::optional<pybind11::gil_scoped_release> unlocked;
    if (PyGILState_Check() == 1) unlocked.emplace();
    std::unique_lock lock(mutex_);
    if (!completed_) {
        waiter_ = {steady_clock::now(), std::this_thread::get_id()};
        if (timeout == kNoTimeout) {
            wait_completed(lock);
        } else if (!cv_.wait_for(lock, timeout, [&] { return completed_; })) {
            waiter_.reset();
            lock.unlock();
            fail_and_abort_group(backend_error(timeout_text(since(begun_))),
                                 c10d::WorkResult::TIMEOUT);
            lock.lock();
        }
        waiter_.reset();
    }
    const std::exception_ptr error = exception_;
    lock.unlock();
    holders_->wait_until_none();
    drop_handed_over();
    if (error) std::rethrow_exception(error);
}

void NcclWork::wait_completed(std::unique_lock<std::mutex>& lock) {
    const auto is_completed = [&] { return completed_; };
    if (cv_.wait_for(lock, kLongWait, is_completed)) return;
    lock.unlock();
    const bool alone = only_thread_of_python();
    lock.lock();
    if (waiter_) waiter_->alone = alone;  // another thread's wait may have ended
    cv_.wait(lock, is_completed);
}

void NcclWork::release_resources() {
    outputs_.clear();
    future_.reset();
    future_result_.reset();
}

void NcclWork::wait_for_end() {
    try {
        wait_until_end();
    } catch (const std::exception&) {
    }
}

void NcclWork::abort() { fail_and_abort_group(aborted_error(origin_.rank)); }

float NcclWork::getDuration() const {
    const std::lock_guard lock(mutex_);
    TORCH_CHECK(completed_, "getDuration only works if the work has ended");
    return std::chrono::duration<float, std::milli>(ended_ - begun_).count();
}

void NcclWork::end(const std::vector<int>& ranks, std::exception_ptr error) {
    std::exception_ptr first;
    {
        const std::lock_guard lock(mutex_);
        if (parts_left_ == 0) return;  // the watchdog has ended it
        for (const int rank : ranks)
            waits_for_.erase(std::find(waits_for_.begin(), waits_for_.end(), rank));
        if (error && !first_error_) first_error_ = error;
        if (--parts_left_ > 0) return;
        first = first_error_;
        ended_ = steady_clock::now();
        in_use_.clear();
    }
    finish_with(first, first ? c10d::WorkResult::COMM_ERROR : c10d::WorkResult::SUCCESS);
}

void NcclWork::finish_with(std::exception_ptr error, c10d::WorkResult result) {
    if (result != c10d::WorkResult::SUCCESS) {
        auto none = c10d::ErrorType::SUCCESS;
        origin_.error->compare_exchange_strong(none, result == c10d::WorkResult::TIMEOUT
                                                         ? c10d::ErrorType::TIMEOUT
                                                         : c10d::ErrorType::COMM_ERROR);
    }
    c10::intrusive_ptr<c10::ivalue::Future> future;
    {
        const std::lock_guard lock(mutex_);
        result_ = result;
        future = future_result_;
    }
    finish(std::move(error));
    if (future) complete_soon(std::move(future), result);
}

void NcclWork::fail_and_abort_group(std::exception_ptr error, c10d::WorkResult result) {
    bool had_ended = true;
    {
        const std::lock_guard lock(mutex_);
        had_ended = parts_left_ == 0;
        if (!had_ended) {
            parts_left_ = 0;  // the parts' own errors come too late
            first_error_ = error;
            ended_ = steady_clock::now();
            in_use_.clear();
        }
    }
    origin_.cancellation->cancel();
    if (!had_ended) finish_with(error, result);
}

// With NCCL, a future is complete when its call has been enqueued, and callbacks run in the
// caller's thread. They may start collectives there, which keeps the order the same on all ranks.
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

c10::intrusive_ptr<c10::ivalue::Future> NcclWork::getFutureResult() {
    const std::lock_guard lock(mutex_);
    if (!future_result_) {
        future_result_ = c10::make_intrusive<c10::ivalue::Future>(c10::IntType::get());
        if (result_) future_result_->markCompleted(static_cast<std::int64_t>(*result_));
    }
    return future_result_;
}

milliseconds NcclWork::age() const { return since(begun_); }

std::vector<int> NcclWork::waits_for() const {
    const std::lock_guard lock(mutex_);
    return waits_for_;
}

std::optional<NcclWork::Wait> NcclWork::waited() const {
    const std::lock_guard lock(mutex_);
    if (!waiter_) return std::nullopt;
    return Wait{since(waiter_->since), waiter_->thread, waiter_->alone};
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
