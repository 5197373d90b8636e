// Rebuilds the database from the runs' folders. Not for re-parsing one run (reparse.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::archive {

struct RebuildResult {
    long runs_from_folders = 0;
    long runs_from_old = 0;  // taken from the old database, as are these gaps
    long gaps_from_old = 0;
    fs::path old_database;               // where it is kept; empty: there was none
    std::vector<std::string> lost;       // in neither the folders nor the old database
};

// Writes a new file, which replaces the old one at the end; the old one is kept beside it. Data
// that the folders lack are copied from the old database, as far as it can be read. `on_interrupt`
// as TempOutput's. Errors: usage, where there are no folders of runs; io.
[[nodiscard]] Expected<RebuildResult> rebuild(const fs::path& results,
                                              std::function<void(bool kept)> on_interrupt);

}  // namespace compat::archive
