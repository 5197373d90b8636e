// Runs a suite: loads it, prepares its environment, plans, executes, stores and reports.
#pragma once

#include <optional>
#include <string>

#include "runner/archive/results.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/run_request.h"

namespace compat::run {

struct RunResult {
    ExitCode code = ExitCode::ok;
    std::string id;                             // empty: no run is stored
    std::optional<archive::OpenResults> store;  // that holds the run
};
// Ignores `repeat`.
[[nodiscard]] Expected<RunResult> run_once(const RunRequest& request,
                                           const config::Invocation& invocation);

[[nodiscard]] Expected<ExitCode> run_suite(const RunRequest& request,
                                           const config::Invocation& invocation);

}  // namespace compat::run
