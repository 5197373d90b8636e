// The series of stored runs: complete runs that are comparable, oldest first, under the name of
// their column. Not for what they say of a test (analysis/ledger.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runner/analysis/changes/environment.h"
#include "runner/analysis/ledger.h"
#include "runner/store/store.h"
#include "runner/store/trends.h"

namespace compat::site {

struct Series {
    std::string suite;
    std::string column;  // of the nightly matrix, else the device: "cuda (simulated)"
    std::string way;     // "device mps (simulated), fallback on, shim off"
    std::string torch;   // of the newest run; empty: none
    std::vector<store::RunSummary> runs;  // oldest first, not empty
    // By run: equal numbers mean the same source and the same torch.
    std::vector<std::uint32_t> versions;
    std::string unfinished;  // a newer run that is not complete; empty: none

    [[nodiscard]] const store::RunSummary& newest() const { return runs.back(); }
    [[nodiscard]] std::vector<std::string> run_ids() const;
};

// The series of runs that give verdicts and are no shards: by suite, then by column. A part of the
// suite has a series of its own, unless it ran once beside other runs. `runs`: newest first, as
// Store::runs returns them. If two series have one suite, torch and column, their columns' names
// have the series' names.
[[nodiscard]] std::vector<Series> series_of(std::vector<store::RunSummary> runs);

// Runs are sorted by their start times, so a wrong clock puts them in the wrong order. Empty: no
// run of the series is dated later.
[[nodiscard]] std::string note_of_later_run(const store::Store& store, const std::string& series,
                                            WallTime started);

// Differences between the fingerprints of two runs. Errors: those of the store.
struct ChangedBetween {
    bool known = true;  // false: a run is imported, or of an old runner
    std::vector<analysis::EnvironmentChange> environment;
};
[[nodiscard]] Expected<ChangedBetween> changed_between(const store::Store& store,
                                                       const std::string& baseline,
                                                       const std::string& run);

// A test in the runs of a series.
struct TestInSeries {
    std::vector<analysis::LedgerEntry> entries;  // oldest first; empty: no run has it
    std::vector<std::int64_t> results;           // by entry
};
[[nodiscard]] TestInSeries test_in_series(const Series& series,
                                          const std::vector<store::TestResult>& results);

// The series of a run, up to it. Empty: the run is not complete, or gives no verdicts. Errors:
// usage, for an unknown run.
[[nodiscard]] Expected<std::optional<Series>> series_until(const store::Store& store,
                                                           const std::string& run);

// The tests of `failed`, ids of broken tests of the newest run, that are flaky and therefore do not
// fail a night (analysis::is_quarantined), sorted.
[[nodiscard]] Expected<std::vector<std::string>> quarantined(const store::Store& store,
                                                             const Series& series,
                                                             std::span<const std::string> failed);

}  // namespace compat::site
