// Results of other ways to run a failed test: the run's diagnostic attempts, and other runs of the
// suite. Not for the tables (runner/analysis/ways/{diagnostic_retries,attribution}.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runner/analysis/ways/attribution.h"
#include "runner/base/error.h"

namespace compat::store {
struct JobResult;
class Store;
}  // namespace compat::store

namespace compat::reports {

struct DiagnosticAttemptView {
    int number = 1;
    std::string step;
    parsers::State state = parsers::State::not_run;
    double duration_s = 0;
    std::string key_line;  // or the reason
    std::string log;       // relative to the run's folder
};

// Results of the run's diagnostic attempts at a failed test (`--diagnose`).
struct DiagnosisView {
    analysis::DiagnosticResult result;
    std::string words;
    std::vector<DiagnosticAttemptView> attempts;  // at this very test
};

// The cause of a failure whose test ran in several ways (runner/analysis/ways/attribution.h).
struct AttributionView {
    std::string cause;
    std::string rule;  // empty: the other ways decide nothing
    std::string words;
    std::string run;  // that showed it; empty: this one
    std::string as;   // the test that ran, for this one, too; empty: itself
};
[[nodiscard]] AttributionView view_of(const analysis::Attribution& attribution);

// Runs in other ways, newest first, and the verdicts of their tests.
struct OtherRuns {
    struct Run {
        std::string id;
        analysis::Way way;
    };
    struct Verdict {
        parsers::State state = parsers::State::not_run;
        std::string signature;   // of its failure
        bool generated = false;  // it used what the hub had generated
    };
    std::vector<Run> runs{};
    // Empty: the run has no such test.
    std::function<std::optional<Verdict>(const std::string& run, const std::string& test)>
        verdict{};
};
// Those of the same clean revision and torch. `store` outlives it.
[[nodiscard]] Expected<OtherRuns> other_runs_of(const store::Store& store, const std::string& run);

// Takes a run's modules in order, and answers of the failed tests of those that it has.
class WaysOfRun {
  public:
    WaysOfRun(analysis::Way way, bool diagnosed, OtherRuns others)
        : way_(std::move(way)), diagnosed_(diagnosed), others_(std::move(others)) {}

    // A test that needs attention. `diagnostics`: the diagnostic attempts at its module.
    void add(const parsers::CaseRecord& test, const std::vector<store::JobResult>& diagnostics);
    // Empty: the run was not asked to diagnose.
    [[nodiscard]] std::optional<DiagnosisView> diagnosis(
        const parsers::CaseRecord& test, const std::vector<store::JobResult>& diagnostics) const;
    [[nodiscard]] std::optional<AttributionView> attribution(const parsers::CaseRecord& test) const;

  private:
    analysis::Way way_;
    bool diagnosed_;
    OtherRuns others_;
    analysis::Representatives kinds_;
};

}  // namespace compat::reports
