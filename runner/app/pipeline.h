// The main job, as a list of steps: suite, source and environment, plan, children, store, reports.
#pragma once

#include "runner/app/cli.h"
#include "runner/app/run_folder.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"

namespace compat::app {

struct Ran {
    ExitCode code = ExitCode::ok;
    RunFolder run;  // of a dry run, nothing
};
// One run, whatever `repeat` says.
[[nodiscard]] Expected<Ran> run_once(const RunCommand& command, const Invocation& invocation);

[[nodiscard]] Expected<ExitCode> run_suite(const RunCommand& command, const Invocation& invocation);

}  // namespace compat::app
