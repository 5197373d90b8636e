// The runs of broken tests after the columns of `runner porting`, which say more about the causes.
// Not for the columns (columns.h).
#pragma once

#include <memory>

#include "reports/porting/porting.h"
#include "runner/base/error.h"
#include "runner/porting/columns.h"

namespace compat::porting {

// Runs tests on plain CPU with other random numbers, which a device has for the same seed.
[[nodiscard]] Expected<void> run_random(const run::RunRequest& request,
                                        const ColumnSettings& settings,
                                        const reports::PortingView& view,
                                        const std::shared_ptr<run::SharedByRuns>& shared,
                                        Columns& columns);

// Runs the broken tests again where the device refuses nothing, to see what is behind.
[[nodiscard]] Expected<void> run_keep_going(const run::RunRequest& request,
                                            const ColumnSettings& settings,
                                            const reports::PortingView& view,
                                            const std::shared_ptr<run::SharedByRuns>& shared,
                                            Columns& columns);

}  // namespace compat::porting
