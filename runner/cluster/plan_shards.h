// Many machines: plans a run once, cut into shards, and runs one shard of such a plan. Not here:
// cutting (plan/cut.h), and making one run of the shards (merge.h).
#pragma once

#include <optional>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings.h"
#include "runner/run/resume.h"
#include "runner/run/run_suite.h"

namespace compat::cluster {

struct PlanRequest {
    run::RunRequest run;
    std::size_t shards = 0;                           // 0: as many as `target` needs
    std::optional<std::chrono::milliseconds> target;  // that a shard may take
    std::size_t shards_at_first = 0;  // while no duration is known, with `target`; 0: an error then
    int jobs = 0;  // children at a time that `target` is for; 0: as the settings say for this host
    fs::path out;
};

// Prepares source, environment and shim, and writes the plan's file. Starts no test. Reads earlier
// durations from the results folder and writes nothing there.
[[nodiscard]] Expected<ExitCode> plan_shards(const PlanRequest& request,
                                             const config::Invocation& invocation);

// Runs shard `request.shard` of the plan in the file `request.plan`, or continues it from its
// folder. A shard that is complete is not run again: the code is that of its run.
[[nodiscard]] Expected<ExitCode> run_planned_shard(const run::RunRequest& request,
                                                   const config::Invocation& invocation,
                                                   const run::ParseCommand& parse);

}  // namespace compat::cluster
