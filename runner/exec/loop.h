// The one event loop: binds the executor to real children, timers, signals and events files.
#pragma once

#include "runner/base/clock.h"
#include "runner/exec/executor.h"
#include "runner/exec/zygote.h"

namespace compat::exec {

// What whoever watches wants of the run.
struct Reply {
    std::string stop;       // why it must stop; empty: it goes on
    std::vector<Job> next;  // after a JobFinished: further jobs, before all that wait; their
                            // indices follow the known ones
};

// Receives RunStarted first and RunFinished last, on the calling thread.
using Watcher = std::function<Reply(const RunEvent&)>;

// Runs `jobs` to their end and returns when every child is gone. SIGINT, SIGTERM and SIGHUP (where
// it was not ignored) stop the run in order, a second one kills. On return the three stay blocked,
// so that an impatient one cannot keep the caller from storing and reporting what there is. Where
// there is a `zygote`, jobs wait for its imports.
void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, Watcher watcher,
              std::optional<Zygote> zygote = std::nullopt);

}  // namespace compat::exec
