// The main job, as a list of steps: suite, source and environment, plan, children, store, reports.
#pragma once

#include "runner/app/cli.h"
#include "runner/base/error.h"
#include "runner/base/exit_code.h"

namespace compat::app {

[[nodiscard]] Expected<ExitCode> run_suite(const RunCommand& command, const Invocation& invocation);

}  // namespace compat::app
