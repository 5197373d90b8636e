// The main job, as a list of steps: suite, source and environment, plan, children, store, reports.
#pragma once

#include "runner/archive/run_folder.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/run/run_request.h"

namespace compat::run {

struct Ran {
    ExitCode code = ExitCode::ok;
    archive::RunFolder run;  // of a dry run, nothing
};
// One run, whatever `repeat` says.
[[nodiscard]] Expected<Ran> run_once(const RunRequest& request,
                                     const config::Invocation& invocation);

[[nodiscard]] Expected<ExitCode> run_suite(const RunRequest& request,
                                           const config::Invocation& invocation);

}  // namespace compat::run
