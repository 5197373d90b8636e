// Runs a suite once for each column of `runner porting`, with one preparation for all. Not for what
// runs after the columns (further_runs.h).
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/porting/porting.h"
#include "runner/base/error.h"
#include "runner/config/settings.h"
#include "runner/run/run_suite.h"

namespace compat::porting {

struct ColumnRun {
    std::string id;  // empty: there is no run
    std::string why_missing;
    std::string command{};  // that makes it; empty: not known
};

struct Columns {
    reports::PerColumn<ColumnRun> runs;
    std::vector<std::string> kept_going{};  // ids of runs
    std::string random{};                   // id of the run with other random numbers
    bool interrupted = false;               // one of the runs was
    std::optional<Error> error;             // after which no further column ran

    [[nodiscard]] bool is_whole() const {
        return std::all_of(runs.begin(), runs.end(), [](const ColumnRun& run) {
            return !run.id.empty() && run.why_missing.empty();
        });
    }
};

// The settings that all columns share.
struct ColumnSettings {
    config::Invocation invocation;
    int seeds = 0;  // of the run with other random numbers
};

// Prepares source, environment and shim once for all columns, so that errors show before minutes
// are spent. By default a failed test is retried, so that a flaky test is not taken for a
// difference.
[[nodiscard]] Expected<ColumnSettings> prepare_columns(const run::RunRequest& request,
                                                       const config::Invocation& invocation,
                                                       run::SharedByRuns& shared);

// Errors: those of the first column, after which no other can run either.
[[nodiscard]] Expected<Columns> run_columns(const run::RunRequest& request,
                                            const config::Invocation& invocation,
                                            const std::shared_ptr<run::SharedByRuns>& shared);

// The invocation and the request of one of several runs.
[[nodiscard]] config::Invocation invocation_of(const config::Invocation& invocation,
                                               const reports::ColumnRow& column);
// A column whose device takes every setting that a column of `runner porting` can have.
[[nodiscard]] const reports::ColumnRow& hardest_column();
[[nodiscard]] run::RunRequest request_of(const run::RunRequest& request,
                                         std::shared_ptr<run::SharedByRuns> shared);

}  // namespace compat::porting
