// Since when a test is broken, in each series that has it: its states, the last good and the first
// bad run, and what changed between them. Not for printing it (cli/results/blame.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runner/site/series.h"

namespace compat::site {

struct BlameRun {
    std::string id;
    WallTime started{};
    std::string torch, commit;  // empty: unknown
};

struct BlameColumn {
    std::string column, series, torch, way;
    std::vector<parsers::State> states;  // oldest first
    analysis::Ledger ledger;
    BlameRun newest;  // that has the test
    std::optional<BlameRun> last_good, first_bad;
    // Between these two; empty: one of them is not there.
    std::optional<ChangedBetween> changed;
    std::string error;  // of the newest broken run: key line, or reason; may be empty
    std::string error_run;
};

struct BlameView {
    std::string test, suite;
    std::vector<BlameColumn> columns;
};

struct BlameRequest {
    std::string test;            // its id
    std::string series, column;  // empty: all
};

// A test in one series. Empty: no run of the series has it. Errors: those of the store.
[[nodiscard]] Expected<std::optional<BlameColumn>> blame_in(const store::Store& store,
                                                            const Series& series,
                                                            const std::string& test);

// One view for each suite that has a test of this id. Errors: usage, if no complete run has it.
[[nodiscard]] Expected<std::vector<BlameView>> blame(const store::Store& store,
                                                     const BlameRequest& request);

}  // namespace compat::site
