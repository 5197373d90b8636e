// Scans a program's sources for uses of CUDA after it has run, so quickly that nobody waits for it.
// Not for whole projects (scan_sources.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "parsers/devices.h"
#include "runner/analysis/scan/cuda_scan.h"
#include "runner/base/files/fs.h"

namespace compat::scan {

struct ProgramSources {
    std::vector<std::string> words;  // the command line
    fs::path cwd;
    std::string python;
};

// Scans the program's script and its files with events in the record: those below the current
// folder or the script's, without installed packages. Nothing: there is none, they are too many, or
// it would take longer than kProgramScanSeconds.
inline constexpr unsigned kProgramScanSeconds = 2;
inline constexpr std::size_t kProgramScanFiles = 100;
[[nodiscard]] std::optional<analysis::CudaScan> scan_program(const ProgramSources& program,
                                                             const parsers::DevicesResult& record);

}  // namespace compat::scan
