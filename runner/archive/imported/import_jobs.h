// Tells which imported files are of different jobs, which are shards or attempts of one job, and
// which tell of one run twice. The order in which files were named decides nothing.
// docs/reference/import-formats.md says how. Not for reading results (imported_files.h).
#pragma once

#include <string>
#include <vector>

#include "runner/archive/imported/imported_files.h"
#include "runner/base/error.h"

namespace compat::archive {

struct ImportJob {
    std::string name;                 // empty: all files are of one, which has no name
    std::vector<ImportedFile> files;  // in the order of their attempts
};

// The one in which most tests broke is the last. Errors: io, if a file cannot be read.
[[nodiscard]] Expected<std::vector<ImportJob>> sort_into_jobs(std::vector<ImportedFile> files);

}  // namespace compat::archive
