// Makes one run of the shards of a plan, read from the folders that they wrote. Not here: which
// shards belong together (shards_of_run.h).
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/run_suite.h"

namespace compat::cluster {

struct MergeRequest {
    std::vector<std::string> folders;  // run folders, and results folders; empty: the settings' one
    std::string plan;                  // the plan's file; empty: the shards say how they were cut
    bool allow_missing = false;        // shards that did not run, or not to their end
    std::string reasons;               // a file that says why; empty: none
    run::ExtraReports reports{};
};

// Errors: usage, naming the shards that are missing, not complete or lack files. With
// `allow_missing` what such a shard did not run is `not_run`, with the reason.
[[nodiscard]] Expected<run::RunResult> merge_into_run(const MergeRequest& request,
                                                      const config::Invocation& invocation);
[[nodiscard]] Expected<ExitCode> merge_shards(const MergeRequest& request,
                                              const config::Invocation& invocation);

}  // namespace compat::cluster
