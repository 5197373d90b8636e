// Reads two runs for a comparison: small rows, so that runs of a million tests fit into memory, and
// details of single tests. Ids of rows hold in one database alone. Not for a run's whole modules
// (Store::each_module) nor for the comparison (runner/analysis/changes).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runner/store/store.h"

namespace compat::store {

// A test's verdict in a run.
struct VerdictRow {
    std::int64_t test = 0;    // names the test in this database
    std::int64_t result = 0;  // names its result in the run
    parsers::State state = parsers::State::not_run;
};

// The failure that decides a verdict.
struct FailureRow {
    std::int64_t result = 0;
    std::optional<parsers::Cause> cause;
    std::string signature;                          // empty: not worked out
    parsers::State state = parsers::State::failed;  // of the verdict
    std::optional<parsers::ErrorClass> error_class{};
    std::string rule{};
};

// Why a test ended as it did, and where that is written.
struct ResultDetail {
    std::string key_line;  // of its failure; empty: none
    std::string reason;
    std::string log;  // relative to the run's folder
    bool pseudo = false;
};

struct ModuleRow {
    std::string path;
    parsers::ModuleOutcome outcome = parsers::ModuleOutcome::not_run;  // of its last whole attempt
    std::string reason;
    bool collected = false;  // an attempt knew all its tests
};

// A run that another may be compared with.
struct ComparableRun {
    std::string id;
    std::vector<std::string> argv;
    std::string repeat_of;  // as RunInfo::repeat_of
    Subset subset;
    std::int64_t modules = 0, tests = 0;
};

// A run of a series, as its history shows it.
struct SeriesRun {
    std::int64_t row = 0;  // names the run in this database
    std::string id;
    WallTime started{};
    bool complete = false;
    StateCounts states{};
};

// A test's verdict in a run of a series.
struct StateInSeries {
    std::size_t run = 0;  // index in the runs that were asked for
    parsers::State state = parsers::State::not_run;
};

// Errors as Store's. An unknown run: usage.

// By `test`, each once.
[[nodiscard]] Expected<std::vector<VerdictRow>> verdict_rows(const Store& store,
                                                             std::string_view run);
// One for each broken verdict that has a failure.
[[nodiscard]] Expected<void> each_failure(const Store& store, std::string_view run,
                                          const std::function<void(FailureRow)>& see);
// Results of tests that passed after they had failed in a process of the same kind
// (docs/reference/terms.md, "flaky").
[[nodiscard]] Expected<std::vector<std::int64_t>> flaky_results(const Store& store,
                                                                std::string_view run);
// Results of tests that used what the hub had generated.
[[nodiscard]] Expected<std::vector<std::int64_t>> generated_results(const Store& store,
                                                                    std::string_view run);
// Ids of the tests, in the order of `tests`.
[[nodiscard]] Expected<std::vector<std::string>> test_ids(const Store& store,
                                                          std::span<const std::int64_t> tests);
// In the order of `results`.
[[nodiscard]] Expected<std::vector<ResultDetail>> result_details(
    const Store& store, std::span<const std::int64_t> results);
// In the order of the plan.
[[nodiscard]] Expected<std::vector<ModuleRow>> module_rows(const Store& store,
                                                           std::string_view run);
// Complete runs that `run` may be compared with (comparable.h) and that began before it; it may be
// of another database. Newest first, at most `limit`.
[[nodiscard]] Expected<std::vector<ComparableRun>> comparable_runs(const Store& store,
                                                                   const RunInfo& run, int limit);
// As comparable_runs, with those that are not complete.
[[nodiscard]] Expected<std::vector<SeriesRun>> series_before(const Store& store, const RunInfo& run,
                                                             int limit);
// The verdicts of one test in `runs`, in their order; runs that do not have it are left out.
[[nodiscard]] Expected<std::vector<StateInSeries>> states_in_series(const Store& store,
                                                                    std::span<const SeriesRun> runs,
                                                                    std::string_view test);
// The complete runs that differ in nothing from `run`, itself included, newest first, at most
// `limit` (A/A, --repeat); one alone: it was not repeated.
[[nodiscard]] Expected<std::vector<std::string>> repeats_of(const Store& store,
                                                            std::string_view run, int limit);
// The newest complete run of each comparable_key except for its series, newest first, without
// shards and runs that give no verdicts. Only runs of the same suite, and the same part of it, as
// `run`.
[[nodiscard]] Expected<std::vector<std::string>> newest_by_device(const Store& store,
                                                                  const RunInfo& run);
// The jobs of the suite's newest import that has some, in the order in which they were stored.
[[nodiscard]] Expected<std::vector<std::string>> jobs_of_import(const Store& store,
                                                                std::string_view suite);

}  // namespace compat::store
