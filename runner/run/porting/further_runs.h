// The runs of broken tests after the columns of `runner porting`, which say more about the causes.
// Not for the columns (columns.h).
#pragma once

#include <memory>

#include "reports/porting/porting.h"
#include "runner/base/error.h"
#include "runner/run/porting/columns.h"

namespace compat::run {

// Runs tests on plain CPU with other random numbers, which a device has for the same seed.
[[nodiscard]] Expected<void> run_random(const RunRequest& request, const ColumnSettings& settings,
                                        const reports::PortingView& view,
                                        const std::shared_ptr<SharedByRuns>& shared,
                                        Columns& columns);

// Runs the broken tests again where the device refuses nothing, to see what is behind.
[[nodiscard]] Expected<void> run_keep_going(const RunRequest& request,
                                            const ColumnSettings& settings,
                                            const reports::PortingView& view,
                                            const std::shared_ptr<SharedByRuns>& shared,
                                            Columns& columns);

}  // namespace compat::run
