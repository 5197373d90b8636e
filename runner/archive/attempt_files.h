// Reads an attempt's files within bounds, because a test may have replaced them. Not for the files'
// names (run_folder.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "parsers/attempt.h"
#include "runner/base/files/file_below.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

// The limit for events, devices and hub. A million tests need a third of it.
inline constexpr std::uint64_t kMaxEventBytes = 1ull << 30;
// The limit for a log: twice the default of limits.log_bytes. Only the end of a longer log is read.
inline constexpr std::uint64_t kMaxLogBytes = 128ull << 20;

// A file that is not there is empty: its child never wrote it. One that cannot be read, or has more
// than `most` bytes, is a diagnostic.
[[nodiscard]] parsers::LineSource lines_of(FileBelow file, std::uint64_t most = kMaxEventBytes);
// The readable text; for a refused file, a line that says why.
[[nodiscard]] parsers::TextSource text_of(FileBelow file, std::uint64_t most = kMaxLogBytes);

[[nodiscard]] parsers::Isolation isolation_of(const store::RunInfo& run);

// Where the key of an attempt's events is kept, if its record needs one (parsers::needs_key):
// beside the log, where a sandboxed test does not write.
[[nodiscard]] fs::path key_file(const fs::path& log);

// Names of an attempt's files relative to the run's folder; an empty name is no file.
struct AttemptFileNames {
    std::string log, events, devices, hub;
};
[[nodiscard]] parsers::AttemptFiles files_of(const fs::path& folder, const AttemptFileNames& names);
// Those of an attempt that is not stored.
[[nodiscard]] parsers::AttemptFiles files_of(FileBelow log, FileBelow events);
// Whether each of the names that is not empty is a regular file below the folder that can be read.
[[nodiscard]] bool has_files(const fs::path& folder, const std::vector<std::string>& names);

// The record of a stored attempt, read from its files by today's parsers. Only the run knows why a
// test did not run, so the stored reasons are kept. Empty if a file is gone, or if an older runner
// did not store how the process ended.
[[nodiscard]] std::optional<parsers::ModuleRecord> read_attempt_again(
    const store::JobResult& stored, const store::RunInfo& run, const fs::path& folder);

}  // namespace compat::archive
