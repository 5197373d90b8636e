// The interface through which the executor starts and signals children; tests use a fake. Not here:
// decisions (executor.h), real processes (launcher_posix.h).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "runner/base/error.h"
#include "runner/exec/event.h"
#include "runner/exec/job.h"

namespace compat::exec {

// Known when a child has been reaped and its log is closed.
struct ChildResult {
    ProcessEnd end;    // exited or signaled
    AttemptCost cost;  // without duration_s
    std::vector<SurvivingProcess> leaked;
    LeftFiles left;
    bool forked = false;  // from the zygote
    std::optional<Error> infrastructure_error;
};

// The observable state of a running child.
struct ChildState {
    bool exited = false;  // its leaked processes are being killed; `on_end` follows
    // The sum over all processes of the job at the last scan; shared pages count once per process.
    std::uint64_t rss_bytes = 0;
    std::optional<Error> log_error;  // its log cannot be written
    bool forked = false;             // from the zygote
};

// A running child. Its destructor kills the group and reports nothing.
class Child {
  public:
    virtual ~Child() = default;
    [[nodiscard]] virtual int pid() const = 0;
    [[nodiscard]] virtual ChildState state() const = 0;
    // The sum over all processes of the job; shared pages count once. Takes a millisecond per
    // process, so call it only if `rss_bytes` exceeds a limit.
    [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
    virtual void signal_leader(int signal) = 0;
    virtual void signal_group(int signal) = 0;
    // SIGKILL did not end it: calls `on_end` before returning, with this child among the leaked.
    virtual void give_up() = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    // Starts `job`; `on_end` is called once, after this call has returned. An error: the child
    // never ran (no such program). Null: the system has no process or memory to spare now; try
    // again.
    [[nodiscard]] virtual Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(ChildResult)> on_end) = 0;
};

}  // namespace compat::exec
