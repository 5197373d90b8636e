// Makes one run of the shards of a plan, read from the folders that they wrote.
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"

namespace compat::run {

// `folders`: run folders, and results folders, of which every shard counts. Errors: usage, naming
// the shards that are missing, not complete or lack files.
[[nodiscard]] Expected<ExitCode> merge_shards(const std::vector<std::string>& folders,
                                              const config::Invocation& invocation);

}  // namespace compat::run
