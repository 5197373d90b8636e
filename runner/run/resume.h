// `resume` continues a stored run; `rerun` runs a part of it again as a new run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/archive/shards.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/run_suite.h"

namespace compat::run {

struct ResumeRequest {
    std::string run = "latest";
    int verbosity = 0;
};
struct RerunRequest {
    std::string run = "latest";
    bool failed = false, flaky = false, not_run = false;
    int verbosity = 0;
};

// The parsed command line of a stored run.
struct StoredCommand {
    RunRequest request;
    config::Flags flags;
    std::vector<std::string> passed_on;
};
using ParseCommand = std::function<Expected<StoredCommand>(const std::vector<std::string>& argv)>;

// The command of a stored run, over which the flags of the new one win. Errors: usage, where it has
// none, or a secret that is not stored.
[[nodiscard]] Expected<StoredCommand> parse_run_command(const store::RunInfo& info,
                                                        const config::Invocation& now,
                                                        const ParseCommand& parse);

// Continues a shard from its folder in `results`.
[[nodiscard]] Expected<ExitCode> resume_shard(const archive::ShardFolder& shard,
                                              const std::filesystem::path& results, int verbosity,
                                              const config::Invocation& invocation,
                                              const ParseCommand& parse);
[[nodiscard]] Expected<ExitCode> resume_run(const ResumeRequest& request,
                                            const config::Invocation& invocation,
                                            const ParseCommand& parse);
[[nodiscard]] Expected<ExitCode> rerun(const RerunRequest& request,
                                       const config::Invocation& invocation,
                                       const ParseCommand& parse, const RunOnce& once);

}  // namespace compat::run
