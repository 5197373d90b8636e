// Queries over many runs: list, names of runs, history of a test, durations. Throws SqlError.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/store/database.h"
#include "runner/store/store.h"

namespace compat::store {

[[nodiscard]] std::vector<RunSummary> list_runs(Database& database);
[[nodiscard]] Expected<std::string> resolve_run(Database& database, std::string_view name);
// The row of the run with exactly this id. Errors: usage.
[[nodiscard]] Expected<std::int64_t> run_row(Database& database, std::string_view id);
[[nodiscard]] std::optional<Store::LaterRun> later_run_in(Database& database,
                                                          std::string_view series,
                                                          WallTime started);
[[nodiscard]] std::vector<HistoryEntry> history_of(Database& database, std::string_view test,
                                                   std::string_view suite);
[[nodiscard]] std::vector<std::string> tests_with(Database& database, std::string_view part,
                                                  std::string_view run, int limit);
[[nodiscard]] std::vector<Store::Verdict> verdicts_in(Database& database, std::int64_t run);
[[nodiscard]] std::vector<CaseSummary> cases_of(Database& database, std::int64_t run,
                                                const CaseFilter& filter, std::int64_t after,
                                                int limit);
[[nodiscard]] Store::Extent extent_in(Database& database, std::int64_t run);
// Newest first: rows of runs.
[[nodiscard]] std::vector<std::int64_t> other_ways_of(Database& database, std::int64_t run);
[[nodiscard]] std::optional<TestVerdict> verdict_in(Database& database, std::int64_t run,
                                                    std::string_view test);
[[nodiscard]] SuitePast past_of(Database& database, std::string_view suite);

}  // namespace compat::store
