// Scans Python sources for what they use CUDA for, and marks what ran by device records. Runs
// runner/harness/scan. Not for what a scan is (analysis/scan/cuda_scan.h), nor for replacements
// (fix_sources.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "parsers/devices.h"
#include "runner/analysis/scan/scan_record.h"
#include "runner/base/files/fs.h"
#include "runner/prepare/prepare.h"

namespace compat::scan {

struct Sources {
    std::vector<std::string> paths;  // files, and folders of them
    std::string python;              // reads them: its syntax is understood
    std::string torch;               // version that replacements are for; empty: any
    unsigned limit_s = 0;            // time limit; 0: none
};

// Errors: usage, if there is no Python file; environment, if Python fails or takes too long.
[[nodiscard]] Expected<analysis::CudaScan> scan_sources(const Sources& sources,
                                                        const prepare::Share& share);

// The path without symbolic links; as it is, if that fails.
[[nodiscard]] fs::path real_path(const fs::path& path);

// The folder above all `paths` that has a project's files (pyproject.toml, .git), else that of the
// first.
[[nodiscard]] fs::path project_above(const std::vector<std::string>& paths);

// Evidence from device records about the files of a scan.
class RecordsOfScan {
  public:
    RecordsOfScan(const std::vector<std::string>& paths, const analysis::CudaScan& scan);
    ~RecordsOfScan();
    RecordsOfScan(const RecordsOfScan&) = delete;
    RecordsOfScan& operator=(const RecordsOfScan&) = delete;

    // The folder of the record's events in the user's code, if none of them is in a scanned file;
    // else empty. Errors: usage, if the file is no device record.
    [[nodiscard]] Expected<fs::path> read(const fs::path& record);
    // An event of a record that the caller has read. `location.file` is absolute.
    void add(const parsers::DeviceEvent& event);
    void add(const parsers::ShimSession& session);
    void mark(analysis::CudaScan& scan) const;

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace compat::scan
