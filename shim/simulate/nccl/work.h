// The handle of a call of a simulated NCCL group. Its wait() blocks until the tensors are complete:
// on a simulated device, work has ended when its call returns. The backend ends it (backend.cc),
// and the watchdog times it out (watchdog.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <torch/csrc/distributed/c10d/Work.hpp>
#include <vector>

#include "simulate/memory.h"
#include "simulate/nccl/call.h"
#include "simulate/nccl/lane.h"
#include "simulate/nccl/transfers.h"

namespace compat::shim::simulate {

class NcclWork final : public c10d::Work {
  public:
    struct Origin {
        int rank = 0;                       // in its group
        std::string group;                  // "0", as torch names it
        std::string description;            // "default_pg"
        std::vector<std::uint64_t> global;  // the group's ranks in the whole job
        std::chrono::milliseconds timeout{};
        bool blocking = false;  // wait() raises on a time-out, and no process ends
        std::shared_ptr<Cancellation> cancellation;  // the group's; a time-out aborts it
        std::shared_ptr<std::atomic<c10d::ErrorType>> error;  // the group's first
    };

    // Ends when all of its parts have ended. Each part is a list of the group's ranks that it
    // needs. The profiler has an event `title` with the shapes of `inputs` until then.
    NcclWork(Origin origin, Call call, const std::string& title,
             const std::vector<at::Tensor>& inputs, std::vector<at::Tensor> outputs,
             const std::vector<std::vector<int>>& parts);

    bool wait(std::chrono::milliseconds timeout = std::chrono::milliseconds(0)) override;
    // Does not raise the call's error.
    void wait_for_end();
    void synchronize() override { wait_until_end(); }
    void blockCurrentStream() { wait_until_end(); }
    void abort() override;
    std::vector<at::Tensor> result() override { return outputs_; }
    c10::intrusive_ptr<c10::ivalue::Future> getFuture() override;
    // The future's value is an int, a c10d::WorkResult, soon after the call has ended. Callbacks
    // run on a thread of ours.
    c10::intrusive_ptr<c10::ivalue::Future> getFutureResult() override;
    std::uint64_t getSequencenumber() const override { return call_.number; }
    float getDuration() const override;
    std::chrono::milliseconds getTimeout() const { return origin_.timeout; }

    // Ends a part that needed `ranks`. The first error becomes the work's. Call from any thread.
    void end(const std::vector<int>& ranks, std::exception_ptr error = nullptr);
    // One holder for each part. A part's thread leaves after end(), when the tensors are handed
    // over.
    [[nodiscard]] const std::shared_ptr<Holders>& holders() const { return holders_; }
    // Ends the work, unless it has ended, and aborts the group: other and later calls get an error.
    void fail_and_abort_group(std::exception_ptr error,
                              c10d::WorkResult result = c10d::WorkResult::COMM_ERROR);

    [[nodiscard]] const Origin& origin() const { return origin_; }
    [[nodiscard]] const Call& call() const { return call_; }
    // The ranks that unfinished parts need.
    [[nodiscard]] std::vector<int> waits_for() const;
    [[nodiscard]] std::chrono::milliseconds age() const;
    // How long a thread of the program has been in wait(); nothing if none is.
    struct Wait {
        std::chrono::milliseconds time;
        std::thread::id by;
        bool alone;  // the process had no other thread of Python after kLongWait
    };
    // The minimum wait from which `alone` is known.
    static constexpr std::chrono::milliseconds kLongWait{1000};
    [[nodiscard]] std::optional<Wait> waited() const;
    // The text that WorkNCCL prints.
    [[nodiscard]] std::string text() const;
    // The watchdog's sentence, after `ran`.
    [[nodiscard]] std::string timeout_text(std::chrono::milliseconds ran) const;

    // Called when the last reference goes. The watchdog's weak references keep the object's memory.
    void release_resources() override;

  private:
    // Ends the work for waiting threads and for its result's future. Call without the lock.
    void finish_with(std::exception_ptr error, c10d::WorkResult result);
    // wait() without an event of the profiler.
    void wait_until_end(std::chrono::milliseconds timeout = std::chrono::milliseconds(0));

    const Origin origin_;
    const Call call_;
    std::vector<at::Tensor> outputs_;
    std::vector<int> waits_for_;
    const std::chrono::steady_clock::time_point begun_;
    std::chrono::steady_clock::time_point ended_;
    int parts_left_;
    std::exception_ptr first_error_;
    std::vector<StorageInUse> in_use_;  // until it ends
    struct Waiter {
        std::chrono::steady_clock::time_point since;
        std::thread::id thread;
        bool alone = false;
    };
    void wait_completed(std::unique_lock<std::mutex>& lock);
    std::optional<Waiter> waiter_;
    const std::shared_ptr<Holders> holders_;
    std::optional<c10d::WorkResult> result_;  // once it has ended
    c10::intrusive_ptr<c10::ivalue::Future> future_result_;
    std::mutex future_mutex_;
    c10::intrusive_ptr<c10::ivalue::Future> future_;
};

// A call that somebody else owns. It has ended if it has no holders. Asking these takes no
// reference to the call, which could become the last one.
struct WatchedWork {
    c10::weak_intrusive_ptr<NcclWork> work;
    std::shared_ptr<Holders> holders;
};

}  // namespace compat::shim::simulate
