// Passes modules from a thread that reads them to the one that stores them, so that both work at a
// time. Holds a few: one may have a hundred thousand tests. Not for tasks (base/worker.h).
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>

#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::cluster {

class ModuleQueue {
  public:
    // Waits while the queue is full. An error: the other side has left.
    [[nodiscard]] Expected<void> put(store::StoredModule module);
    // No more modules come; `result` says whether all were read.
    void close(Expected<void> result);
    // Waits for a module; nothing after the last one.
    [[nodiscard]] std::optional<store::StoredModule> take();
    // The side that takes ends before the last module.
    void leave();
    // The result that `close` was given.
    [[nodiscard]] Expected<void> result() const { return result_; }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<store::StoredModule> modules_;
    Expected<void> result_;
    bool closed_ = false, left_ = false;
};

// Calls `see` on this thread with the modules that `read` reads on another one.
[[nodiscard]] Expected<void> read_ahead(const store::ReadModules& read,
                                        const store::ModuleVisitor& see);

}  // namespace compat::cluster
