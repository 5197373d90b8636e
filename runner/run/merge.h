// The shards of one plan, run on several machines, as one run.
#pragma once

#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"

namespace compat::run {

// `databases`: results folders, or the runner.db in them. Errors: usage, naming the shards that are
// missing or not complete.
[[nodiscard]] Expected<ExitCode> merge_shards(const std::vector<std::string>& databases,
                                              const config::Invocation& invocation);

}  // namespace compat::run
