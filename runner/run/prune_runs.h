// Deletes runs that a rule names, and gives the database's space back. Not for choosing them
// (archive/prune.h).
#pragma once

#include <string_view>
#include <vector>

#include "runner/archive/prune.h"
#include "runner/archive/results.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::run {

void print_run_to_delete(const archive::RunToDelete& run, std::string_view what);

// Prints a line for each and one for the database, if its file shrinks.
[[nodiscard]] Expected<void> delete_runs(archive::OpenResults& store, const fs::path& results,
                                         const std::vector<archive::RunToDelete>& runs);

}  // namespace compat::run
