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
    ProcessEnd end;  // exited or signaled
    Usage usage;
    std::vector<LeakedProcess> leaked;
    std::uint64_t dropped_log_bytes = 0;
    bool forked = false;  // from the zygote
    std::optional<Error> trouble;
};

// What is to be seen of a child from outside.
struct ChildState {
    bool exited = false;  // what it left behind is being ended; `on_end` comes soon
    // Of all the job's processes, a short while ago; pages that they share are counted for each.
    std::uint64_t rss_bytes = 0;
    std::optional<Error> trouble;  // its log can no more be written
    bool forked = false;           // from the zygote
};

// A running child. Destroying it kills its group and forgets it.
class Child {
  public:
    virtual ~Child() = default;
    [[nodiscard]] virtual int pid() const = 0;
    [[nodiscard]] virtual ChildState state() const = 0;
    // Of all the job's processes, each page once, whoever shares it: forked processes share most.
    // A millisecond a process, so only for a child whose `rss_bytes` give reason to look.
    [[nodiscard]] virtual std::uint64_t memory_bytes() const = 0;
    virtual void signal_leader(int signal) = 0;
    virtual void signal_group(int signal) = 0;
    // It does not die of SIGKILL: its end is told at once, from inside this call, with it among
    // those that are left.
    virtual void let_go() = 0;
};

class Launcher {
  public:
    virtual ~Launcher() = default;
    // Starts `job`; `on_end` is called once, later, never from inside this call. An error is a
    // child that never ran (no such program). Null: not now, the machine has no process or memory
    // to spare; the same may go well a little later.
    [[nodiscard]] virtual Expected<std::unique_ptr<Child>> start(
        const Job& job, std::function<void(Ended)> on_end) = 0;
};

}  // namespace compat::exec
