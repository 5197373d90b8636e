// The one event loop: binds the executor to real children, timers, signals and events files.
#pragma once

#include "runner/base/clock.h"
#include "runner/exec/executor.h"

namespace compat::exec {

// Runs `jobs` to their end and returns when every child is gone. The events, RunStarted first and
// RunFinished last, go to `sink` on the calling thread. SIGINT, SIGTERM and SIGHUP stop the run in
// order, a second one kills; a JobFinished with `trouble` stops it, too.
void run_jobs(std::vector<Job> jobs, Settings settings, const Clock& clock, Executor::Sink sink);

}  // namespace compat::exec
