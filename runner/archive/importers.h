// Reads result files of other tools as attempts that the store accepts. Not here: the dialects
// (parsers/foreign.h), the command (run/import_results.h).
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "parsers/foreign.h"
#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::archive {

// The folder of the copies, in a run's folder.
inline constexpr const char* kImportedFolder = "imported";

struct ImportedFile {
    std::filesystem::path file;  // plain (intake.h)
    std::string name;  // as its user knows it: names a module where nothing in the file does
    parsers::Dialect dialect{};
    std::vector<parsers::Dialect> also;  // seen in it and not read, where nobody said the dialect
    std::string log;                     // its copy, relative to the run's folder
    std::string unread;                  // why nothing of it is known: no other field but its name
};

struct WhatToImport {
    std::vector<std::string> names;  // files, pipes, folders; kStdin
    std::string dialect;             // of all of them; empty: as each looks
    std::string stdin_name;
    std::filesystem::path results;  // never looked at: what is in it was made here
};

// Of a folder every file in it, folders within included, in the order of their names; empty ones
// and those in no known dialect are passed over and named in `notes`, what plain_file refuses is
// `unread`. Nothing is taken twice. `room`: the folder for what must be made plain first
// (intake.h), made where it is needed. Errors: io; usage, naming the file: not there, in no known
// dialect, what plain_file refuses.
[[nodiscard]] Expected<std::vector<ImportedFile>> find_import_files(
    const WhatToImport& what, const std::filesystem::path& room, std::vector<std::string>& notes);

// As a run's fingerprint keeps them, and back from it: those of a run whose folder is `folder`,
// none where it was not imported. Errors: usage, where it was and cannot be understood.
[[nodiscard]] std::string describe_files(const std::vector<ImportedFile>& files);
[[nodiscard]] Expected<std::vector<ImportedFile>> described_files(
    const std::string& fingerprint, const std::filesystem::path& folder);

// Facts about the run as a whole.
struct ImportSums {
    std::set<std::string> frameworks;
    std::vector<store::StoredMismatch> mismatches;
    std::vector<std::string> notes;    // of files as a whole
    std::set<std::string> unexpected;  // tests whose last attempt ended as nobody wants to see
    std::int64_t collected = 0;
    double duration_s = 0;  // of all tests together
};

// Hands on one module of one part at a time, diagnosed, numbered as an attempt at its module where
// it is not the first to speak of it. Errors: io, where a file cannot be read; what `see` gives.
[[nodiscard]] Expected<ImportSums> read_imported(
    const std::vector<ImportedFile>& files,
    const std::function<Expected<void>(store::JobResult)>& see);
// The same, each as a module of a run that began at `started`.
[[nodiscard]] Expected<void> each_imported_module(const std::vector<ImportedFile>& files,
                                                  WallTime started,
                                                  const store::ModuleVisitor& see);

}  // namespace compat::archive
