// Reads a stored run from rows into values. Throws SqlError.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runner/store/database.h"
#include "runner/store/store.h"

namespace compat::store {

[[nodiscard]] StoredRun read_run(Database& database, std::int64_t run);

// The row's id and the columns of a run's fields, of `run` joined with `suite`; of lists without
// the long ones.
enum class RunFields { all, of_lists };
[[nodiscard]] std::string run_columns(RunFields which);
// Reads them from the row's first column on; returns the next one.
int read_run_fields(const Statement& row, RunFields which, RunInfo& into);

// `only`: the path of the one to read; empty: all. No statement is open while `see` is called.
[[nodiscard]] Expected<void> read_modules(Database& database, std::int64_t run,
                                          std::string_view only, const ModuleVisitor& see);

// The columns of kRunEndColumns, from `first` on; empty for a run that has not ended.
inline constexpr std::string_view kRunEndColumns =
    "run.finished_ms, run.duration_s, run.complete, run.exit_code, run.accounting_closed,"
    " run.not_run_reason";
inline constexpr int kRunEndColumnCount = 6;
[[nodiscard]] std::optional<RunEnd> read_end(const Statement& row, int first);

[[nodiscard]] WallTime wall_time(std::int64_t ms);
// A name of parsers/record.h. An unknown one is damage: throws SqlError.
[[nodiscard]] parsers::State state_column(const Statement& row, int column);

// Number of tests that the latest complete attempt at the module collected; with `before`, only of
// runs that started before that time.
[[nodiscard]] std::optional<std::int64_t> read_last_known_cases(Database& database,
                                                                std::string_view suite,
                                                                std::string_view module,
                                                                std::optional<WallTime> before);

}  // namespace compat::store
