// The first steps to take: failures that one change of the code or the set-up removes, those with
// the most tests first. Not for why a test failed (parsers/diagnosis/diagnose.h) nor for ports
// (porting/causes.cc). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "parsers/diagnosis/diagnosis.h"
#include "reports/model.h"

namespace compat::reports {

inline constexpr std::size_t kFirstSteps = 10;
inline constexpr std::size_t kStepPlaces = 3;

// Which clusters of one cause one change removes.
enum class OneChange {
    by_cause,    // all of them
    by_text,     // those with one key line
    by_cluster,  // those with one signature
};

// Advice for failures of a cause if no device is simulated. If one is, the failure's judgement
// comes first (runner/analysis/judgement.h).
struct CauseAdvice {
    parsers::Cause cause;
    OneChange merged;
    std::string_view title;   // empty: the key line
    std::string_view advice;  // empty: that of the judgement
};
[[nodiscard]] const CauseAdvice& advice_for(parsers::Cause cause);

// Clusters that one change removes, the one with the most unexpected failures first.
struct FailureGroup {
    std::vector<std::size_t> clusters;  // indices in ReportModel::clusters
    std::int64_t tests = 0;
    std::int64_t expected = 0;  // of these, tests that fail as expected

    [[nodiscard]] std::int64_t unexpected() const { return tests - expected; }
};
// Those with the most unexpected failures first.
[[nodiscard]] std::vector<FailureGroup> failure_groups(const ReportModel& model);

// From the clusters, the gaps and the modules that could not be loaded, kFirstSteps at most. Such a
// module counts as many tests as a module of the run has on average. Failures as expected are no
// work: they do not count.
[[nodiscard]] std::vector<FirstStep> first_steps(const ReportModel& model);

}  // namespace compat::reports
