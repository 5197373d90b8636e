// One thread that runs jobs in the order in which they were posted. Jobs of different lanes run at
// the same time, as kernels of different streams do. It knows nothing of collectives.
//
// Tensors may have Python objects, whose end needs the GIL, and a thread that asks for it while
// Python ends takes the process down. So our threads never drop the last reference to one: they
// hand it to the program's threads, which drop it at their next call. Functions that the program
// gives us to call when a call ends are the exception.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace compat::shim::simulate {

// From any thread of ours: keeps it for the program's next call. `key`: an owner of the same thing,
// which is kept already, is dropped.
void hand_over(const void* key, std::shared_ptr<void> owner);
// From the program's threads.
void drop_handed_over() noexcept;

// Counts the threads of ours that have references to a call's tensors. A wait for the call returns
// when there are none, and drops what they handed over: the tensors are then free.
class Holders {
  public:
    explicit Holders(int count) : count_(count) {}
    // Adds this thread. False if there are none any more: then nobody may join.
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
    // Jobs that were posted still run, on a thread that outlives the lane.
    ~Lane();
    Lane(const Lane&) = delete;
    Lane& operator=(const Lane&) = delete;

    // From any thread. Neither throws. What the job owns is handed over before `after` runs. The
    // thread begins with the first job.
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
