// What other ways of running a failed test show of it: the run's diagnostic attempts, and other
// runs of the suite. Not for the tables (runner/analysis/{diagnostic_retries,attribution}.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runner/analysis/attribution.h"
#include "runner/store/store.h"

namespace compat::reports {

// Runs in other ways, newest first, and the verdicts of their tests.
struct OtherRuns {
    std::vector<store::RunInfo> runs{};
    // Empty: the run has no such test.
    std::function<std::optional<store::TestVerdict>(const std::string& run,
                                                    const std::string& test)>
        verdict{};
};
// Those of the same clean revision and torch. `store` outlives it.
[[nodiscard]] Expected<OtherRuns> other_runs_of(const store::Store& store, const std::string& run);

// Takes a run's modules in order, and answers of the failed tests of those that it has.
class WaysOfRun {
  public:
    WaysOfRun(const store::RunInfo& run, OtherRuns others)
        : run_(run), way_(analysis::way_of(run)), others_(std::move(others)) {}

    // A test of the module that needs attention, and the module's diagnostic attempts.
    void add(const parsers::CaseRecord& test, const std::vector<store::JobResult>& diagnostics);
    // Empty: the run was not asked to diagnose.
    [[nodiscard]] std::optional<analysis::DiagnosticResult> diagnosis(
        const parsers::CaseRecord& test) const;
    [[nodiscard]] std::optional<analysis::Attribution> attribution(
        const parsers::CaseRecord& test) const;

  private:
    store::RunInfo run_;
    analysis::Way way_;
    OtherRuns others_;
    analysis::Representatives kinds_;
};

}  // namespace compat::reports
