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

// The one in which most tests broke is the last. Errors: io, if a file cannot be read.
[[nodiscard]] Expected<std::vector<ImportJob>> sort_into_jobs(std::vector<ImportedFile> files);

// The words of a folder's or file's name beside a job's name: "py39-shard-1-of-2", "attempt_2.xml".
struct PlaceName {
    std::string job;    // the rest: "py39"
    std::string shard;  // "1 of 2", "1"
    std::optional<std::int64_t> attempt;
};
enum class NameOf { folder, file };  // a folder's attempt has a number
[[nodiscard]] PlaceName read_place_name(std::string_view name, NameOf of);

// Puts as many folders in front of equal names as tell files apart that are not shards or attempts
// of one.
void tell_names_apart(std::vector<ImportedFile>& files);

}  // namespace compat::archive
