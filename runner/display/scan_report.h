// The text of `runner scan`: sites that name CUDA, by what to do with them. Pure. Not the JSON of
// the same (scan_json.h).
#pragma once

#include <string>

#include "runner/analysis/cuda_scan.h"

namespace compat::display {

// At most ten rows for each action, or `all`.
[[nodiscard]] std::string scan_report(const analysis::CudaScan& scan, bool all);

}  // namespace compat::display
