// A thread that does tasks in order, for work that the caller need not wait for. Few tasks wait at
// a time, so that what they hold stays small. Not for many short tasks: each costs a lock.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace compat {

class Worker {
  public:
    using Task = std::function<void()>;

    explicit Worker(std::size_t most_waiting);
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    // Drops the tasks that wait.
    ~Worker();

    // Waits while `most_waiting` tasks wait. No task is done after one that threw.
    void add(Task task);
    // Waits until all tasks are done. Rethrows what one threw. After it nothing is added.
    void finish();

  private:
    void work();
    void end();

    std::size_t most_waiting_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Task> waiting_;
    bool ended_ = false;
    std::exception_ptr thrown_;
    std::thread thread_;  // last: it uses the others
};

}  // namespace compat
