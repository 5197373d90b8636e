// The output of `runner scan --json`: all sites of a scan. scan.schema.json describes it. Not the
// text on the terminal (scan_report.h).
#pragma once

#include <string>

#include "runner/analysis/scan/cuda_scan.h"

namespace compat::display {

inline constexpr int kScanJsonFormat = 1;

[[nodiscard]] std::string cuda_scan_json(const analysis::CudaScan& scan);

}  // namespace compat::display
