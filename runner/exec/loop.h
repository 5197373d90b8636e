// The one event loop: binds the executor to real children, timers, signals and events files.
#pragma once

#include "runner/base/clock.h"
#include "runner/exec/executor.h"

namespace compat::exec {

// Receives RunStarted first and RunFinished last, on the calling thread. Returns why the run must
// stop; empty: go on.
using Watcher = std::function<std::string(const RunEvent&)>;

// Runs `jobs` to their end and returns when every child is gone. SIGINT, SIGTERM and SIGHUP (where
// it was not ignored) stop the run in order, a second one kills. On return the three stay blocked,
// so that an impatient one cannot keep the caller from storing and reporting what there is.
void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, Watcher watcher);

}  // namespace compat::exec
