// One thread that runs jobs in the order in which they were posted. Jobs of different lanes run at
// the same time, as kernels of different streams do. It knows nothing of collectives.
//
// Tensors may have Python objects, whose destruction needs the GIL. A thread that waits for the GIL
// while Python ends crashes the process. So our threads never drop the last reference to a tensor.
// They hand it to the program's threads, which drop it at their next call. The exceptions are the
// program's callbacks for the end of a call.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace compat::shim::simulate {

// Call from any thread of ours. Keeps the owner until the program's next call. An owner that is
// already kept under the same `key` is dropped.
void hand_over(const void* key, std::shared_ptr<void> owner);
// Call from the program's threads.
void drop_handed_over() noexcept;

// Counts our threads that hold references to a call's tensors. A wait for the call returns when
// there are none. It then drops the handed-over references, which frees the tensors.
class Holders {
  public:
    explicit Holders(int count) : count_(count) {}
    // Adds this thread. False if no thread is left: then none may join.
    [[nodiscard]] bool join() noexcept;
    void leave() noexcept;
    [[nodiscard]] bool none() const noexcept { return count_ <= 0; }
    void wait_until_none() const noexcept;

  private:
    std::atomic<int> count_;
};

class Lane {
  public:
    Lane() = default;
    // Posted jobs still run, on a thread that outlives the lane.
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // Call from any thread. Neither function may throw. The job's owned objects are handed over
    // before `after` runs. The thread starts with the first job.
    void post(std::function<void()> job, std::function<void()> after);

  private:
    struct Entry {
        std::function<void()> job, after;
    };
    struct Queue {
        std::mutex mutex;
        std::condition_variable changed;
        std::deque<Entry> jobs;
        bool begun = false, closed = false;
    };
    static void run(const std::shared_ptr<Queue>& queue);

    const std::shared_ptr<Queue> queue_ = std::make_shared<Queue>();
};

}  // namespace compat::shim::simulate
