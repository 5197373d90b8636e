// Reads a stored run from rows into values. Throws SqlError.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runner/base/run/run_fields.h"
#include "runner/store/database.h"
#include "runner/store/store.h"

namespace compat::store {

[[nodiscard]] StoredRun read_run(Database& database, std::int64_t run);

// The row's id and the columns of a run's fields, of `run` joined with `suite`; of lists without
// the long ones.
enum class RunFields { all, of_lists };
[[nodiscard]] std::string run_columns(RunFields which);
// Names them for a Query.
template <class Column>
void describe_run(RunInfo& info, RunFields which, Column column) {
    run_fields(info, [&](const RunField& field, auto& value) {
        if (which == RunFields::all || field.listed) column(field.column, value);
    });
}
// Changes fields whose columns hold something else.
void complete_fields(RunInfo& info);

// `only`: the path of the one to read; empty: all. No statement is open while `see` is called.
[[nodiscard]] Expected<void> read_modules(Database& database, std::int64_t run,
                                          std::string_view only, const ModuleVisitor& see);

// A run's end, without its mismatches, writes and hub.
inline constexpr std::string_view kRunEndColumns =
    "run.finished_ms, run.duration_s, run.complete, run.exit_code, run.accounting_closed,"
    " run.not_run_reason";
struct EndColumns {
    std::optional<WallTime> finished;
    RunEnd end;

    // Empty for a run that has not ended.
    [[nodiscard]] std::optional<RunEnd> ended() const;
};
template <class Column>
void describe_end(EndColumns& row, Column column) {
    COLUMNS(row.end, duration_s, complete, exit_code, accounting_closed, not_run_reason);
    column("finished_ms", row.finished);
}

// Number of tests that the latest complete attempt at the module collected; with `before`, only of
// runs that started before that time.
[[nodiscard]] std::optional<std::int64_t> read_last_known_cases(Database& database,
                                                                std::string_view suite,
                                                                std::string_view module,
                                                                std::optional<WallTime> before);

}  // namespace compat::store
