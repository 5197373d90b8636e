// The runs of broken tests after the columns of `runner porting`, which say more about the causes.
// Not for the columns (columns.h).
#pragma once

#include <array>
#include <memory>

#include "reports/porting/porting.h"
#include "runner/base/error.h"
#include "runner/porting/columns.h"

namespace compat::porting {

// Runs tests that `view` names, and adds the runs to `columns`.
using FurtherRuns = Expected<void> (*)(const run::RunRequest& request,
                                       const ColumnSettings& settings,
                                       const reports::PortingView& view,
                                       const std::shared_ptr<run::SharedByRuns>& shared,
                                       Columns& columns);

// In their order: each sees a view with the runs of those before it.
[[nodiscard]] std::array<FurtherRuns, 2> further_runs();

}  // namespace compat::porting
