// How a child's settings and environment differ in a diagnostic attempt. Pure. Not for which step a
// failure gets (runner/analysis/ways/diagnostic_retries.h).
#pragma once

#include "runner/base/diagnostic_step.h"
#include "runner/plan/command.h"

namespace compat::plan {

// The settings of the step's children. For `cpu`, the suite must be told the device anew.
[[nodiscard]] ChildSettings settings_of(DiagnosticStep step, ChildSettings settings);

// Variables of the attempt's child alone; they win over all others.
[[nodiscard]] Variables variables_of(DiagnosticStep step);

}  // namespace compat::plan
