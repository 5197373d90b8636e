// The words of folders' and files' names that say a shard, an attempt or a job, and the names of
// imported files that follow from them. Not for how files are related (import_jobs.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/archive/imported/imported_files.h"

namespace compat::archive {

// Bazel's, beside the file of the last attempt.
inline constexpr const char* kAttemptsFolder = "test_attempts";

// The words of a folder's or file's name beside a job's name: "py39-shard-1-of-2", "attempt_2.xml".
struct PlaceName {
    std::string job;    // the rest: "py39"
    std::string shard;  // "1 of 2", "1"
    std::optional<std::int64_t> attempt;
};
enum class NameOf { folder, file };  // a folder's attempt has a number
[[nodiscard]] PlaceName read_place_name(std::string_view name, NameOf of);

// A file's name without words that only count: "results-2", "a", "first", "2026-11-20".
[[nodiscard]] std::string without_ordinals(const std::string& name);

// A file's name may name a module. One that is named after its shard or attempt, or as Bazel names
// all, gets the rest of its name, or that of its folder. `alone`: it is the only file.
void name_by_place(ImportedFile& file, bool alone);

// Puts as many folders in front of equal names as tell files apart that are not shards or attempts
// of one.
void tell_names_apart(std::vector<ImportedFile>& files);

}  // namespace compat::archive
