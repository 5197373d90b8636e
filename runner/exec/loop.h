// The event loop: connects the executor to real children, timers, signals and events files. Not
// here: decisions (executor.h).
#pragma once

#include "runner/base/clock.h"
#include "runner/exec/executor.h"
#include "runner/exec/zygote.h"

namespace compat::exec {

// The answer of an event's handler.
struct Reply {
    std::string stop;       // the reason to stop; empty: continue
    std::vector<Job> next;  // after a JobFinished: jobs to run before all waiting ones; their
                            // indices follow the last one
};

// Gets RunStarted first and RunFinished last, on the calling thread.
using EventHandler = std::function<Reply(const RunEvent&)>;

// Runs `jobs` and returns when every child has ended. SIGINT, SIGTERM and SIGHUP (unless ignored)
// stop the run; a second one kills. They stay blocked on return, so that the caller can store and
// report the results. With a `zygote`, warm jobs wait for its imports.
void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, EventHandler watcher,
              std::optional<Zygote> zygote = std::nullopt);

}  // namespace compat::exec
