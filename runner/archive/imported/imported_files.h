// Reads result files of other tools as attempts that the store accepts. Not here: the dialects
// (parsers/import/importers.h), the command (run/import_results.h).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parsers/import/importers.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

// The folder of the copies, in a run's folder.
inline constexpr const char* kImportedFolder = "imported";

struct ImportedFile {
    fs::path file;               // decompressed (input_decoder.h)
    std::string name;            // as the user gave it; the module's name if the file has none
    parsers::Dialect dialect{};
    std::vector<parsers::Dialect> also;  // recognised too but not read; empty if the user chose
    std::string log;                     // its copy, relative to the run's folder
    std::string unread;  // why it could not be read; only `name`, `place` and `job` are set then
    // Found by import_jobs.h.
    std::vector<std::size_t> runs;  // its runs to read, by index; empty: all
    std::string shard;              // ends its modules' names: another shard has the same tests
    std::vector<std::size_t> repeats;  // files before it, by index: it tells of their runs again
    std::string undecided;  // a file with the same tests: nothing tells how the two belong together

    fs::path place;               // absolute, as it was named; empty: stdin. Not stored
    std::string job;              // that the user gave it to. Not stored
};

// A file or folder, and the job that it is of.
struct FileOfJob {
    std::string name;  // kStdin
    std::string job;   // empty: unknown
};

struct WhatToImport {
    std::vector<FileOfJob> names;    // files, pipes, folders
    std::string dialect;             // of all files; empty: recognised for each
    std::string stdin_name;
    fs::path results;  // skipped: the runner wrote it
};

// Searches folders recursively, in the order of names. In a folder, empty files and files of an
// unknown dialect are skipped and named in `notes`; a file that was cut off or that plain_file
// refuses is `unread`. No file is returned twice: the first that names it with a job decides.
// `room`: the folder for decompressed copies (input_decoder.h), made when it is needed. Errors: io;
// usage, naming a file that is missing, of an unknown dialect, or refused by plain_file.
[[nodiscard]] Expected<std::vector<ImportedFile>> find_import_files(
    const WhatToImport& what, const fs::path& room, std::vector<std::string>& notes);

// Writes the files to a run's fingerprint, and reads them from the one of the run in `folder`: none
// if it was not imported. Errors: usage, if the fingerprint is invalid.
[[nodiscard]] std::string describe_files(const std::vector<ImportedFile>& files);
[[nodiscard]] Expected<std::vector<ImportedFile>> described_files(const std::string& fingerprint,
                                                                  const fs::path& folder);

// Facts about the run as a whole.
struct ImportSums {
    std::set<std::string> frameworks;
    std::vector<store::StoredMismatch> mismatches;
    std::vector<std::string> notes;    // of files as a whole
    std::set<std::string> unexpected;  // tests whose last attempt is unexpected
    std::int64_t collected = 0;
    double duration_s = 0;  // sum over all tests
};

// Calls `see` for one module of one file at a time, diagnosed. A later result of the same module is
// its next attempt. Errors: io, if a file cannot be read; those of `see`.
[[nodiscard]] Expected<ImportSums> read_imported(
    const std::vector<ImportedFile>& files,
    const std::function<Expected<void>(store::JobResult)>& see);
// The same for a run that began at `started`: `see` gets one module at a time.
[[nodiscard]] Expected<ImportSums> read_imported_modules(const std::vector<ImportedFile>& files,
                                                         WallTime started,
                                                         const store::ModuleVisitor& see);

}  // namespace compat::archive
