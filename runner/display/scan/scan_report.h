// The text of `runner scan`: sites that name CUDA, by what to do with them. Pure. Not the JSON of
// the same (scan_json.h).
#pragma once

#include <string>

#include "runner/analysis/scan/cuda_scan.h"

namespace compat::display {

// At most ten rows for each action, or `all`.
[[nodiscard]] std::string scan_report(const analysis::CudaScan& scan, bool all);

// "3 places in 1 file name CUDA: 2 replace, 1 nothing to do; 1 ran, 1 did not, 1 unknown". Empty:
// no site.
[[nodiscard]] std::string describe_scan(const analysis::CudaScan& scan);

}  // namespace compat::display
