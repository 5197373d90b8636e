// Earlier runs of a run's series: how many tests each had in which state, and the states of single
// tests. Not for the comparison with one of them (compare/compare.h).
#pragma once

#include "reports/model.h"
#include "runner/base/run/run_info.h"

namespace compat::reports {

// How many runs a history shows, the run itself included.
inline constexpr int kRunsOfHistory = 100, kRunsOfTestHistory = 30;

// The runs in the same way before `run`, and the states of tests in the latest of them. `store`
// outlives it.
[[nodiscard]] Expected<PastRuns> past_runs_of(const store::Store& store, const RunInfo& run);

}  // namespace compat::reports
