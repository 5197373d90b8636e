// The seam between deciding what to start or end (executor.h) and doing it: tests put a fake here.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runner/base/error.h"
#include "runner/exec/event.h"
#include "runner/exec/job.h"

namespace compat::exec {

// What is known once a child is gone and its log is closed.
struct Ended {
    Outcome outcome;  // Exited or Signaled
    Usage usage;
    std::vector<LeakedProcess> leaked;
    std::uint64_t dropped_log_bytes = 0;
    std::optional<Error> trouble;
};

// A running child. Destroying it kills its group and forgets it.
class Child {
  public:
    virtual ~Child() = default;
    [[nodiscard]] virtual int pid() const = 0;
    virtual void signal_leader(int signal) = 0;
    virtual void signal_group(int signal) = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    // Starts `job`; `on_end` is called once, later, never from inside this call. An error is a
    // child that never ran (no such program, no more processes).
    [[nodiscard]] virtual Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(Ended)> on_end) = 0;
};

}  // namespace compat::exec
