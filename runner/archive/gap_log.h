// Updates the gap log from a run: adds its hits and closes gaps that it no longer meets. Not here:
// reading the log (reports/gaps.h), and what scans and users write into it (gap_record.h).
#pragma once

#include <string>

#include "runner/analysis/gaps.h"
#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::archive {

struct RunForGapLog {
    store::RunInfo info;
    analysis::LaterRun seen;
};

// For a run that has ended. Reads all its results, which no other process changes, and writes
// nothing.
[[nodiscard]] Expected<RunForGapLog> read_for_gap_log(const store::Store& store,
                                                      const std::string& run);
// Idempotent. Compares the run with the log that it writes to: another run may have written while
// this one waited for the database.
[[nodiscard]] Expected<void> save_gap_log(const store::Store& store, const RunForGapLog& run);

// Both.
[[nodiscard]] Expected<void> log_gaps(const store::Store& store, const std::string& run);

}  // namespace compat::archive
