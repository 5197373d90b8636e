// Runs a suite as one array job of Slurm: plans it, submits it, waits, and makes one run of the
// shards. Not here: a shard on its node (plan_shards.h, runner/slurm/shard.sh), and Slurm's
// commands (runner/slurm/client.h).
#pragma once

#include "runner/base/error.h"
#include "runner/config/settings.h"
#include "runner/run/run_suite.h"

namespace compat::cluster {

// Makes one stored, reported run, as run_once does; `repeat` is ignored. Environment and shim are
// prepared here, so the cache and the results folder must be on a file system that the nodes share.
// A module that did not run, or not to its end, is `not_run` with Slurm's reason.
//
// The first SIGINT on a terminal only asks; a second one, or another signal, cancels the job. The
// code is then ExitCode::interrupted.
[[nodiscard]] Expected<run::RunResult> run_on_slurm(const run::RunRequest& request,
                                                    const config::Invocation& invocation);

// There if the settings say so, else run_once. A shard of a plan runs where it was started.
[[nodiscard]] Expected<run::RunResult> run_here_or_there(const run::RunRequest& request,
                                                         const config::Invocation& invocation);

}  // namespace compat::cluster
