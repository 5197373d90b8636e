// Tells which imported files are of different jobs, which are shards or attempts of one job, and
// which tell of one run twice. The order in which files were named decides nothing.
// docs/reference/import-formats.md says how. Not for reading results (imported_files.h).
#pragma once

#include <string>
#include <vector>

#include "runner/archive/imported/imported_files.h"
#include "runner/base/error.h"

namespace compat::archive {

// Bazel's, beside the file of the last attempt.
inline constexpr const char* kAttemptsFolder = "test_attempts";

struct ImportJob {
    std::string name;                 // empty: all files are of one, which has no name
    std::vector<ImportedFile> files;  // in the order of their attempts
};

// Sorted by name. Errors: io, if a file cannot be read.
[[nodiscard]] Expected<std::vector<ImportJob>> sort_into_jobs(std::vector<ImportedFile> files);

// The words of a folder's or file's name beside a job's name: "py39-shard-1-of-2", "attempt_2.xml".
struct PlaceName {
    std::string job;    // the rest: "py39"
    std::string shard;  // "1 of 2", "1"
    std::optional<std::int64_t> attempt;
};
[[nodiscard]] PlaceName read_place_name(std::string_view name);

}  // namespace compat::archive
