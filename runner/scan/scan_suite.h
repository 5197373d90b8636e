// Scans the own code of a suite that has run, for the page of `runner porting`. Not for the page
// (reports/porting/cuda_uses.h).
#pragma once

#include <string>

#include "reports/porting/cuda_uses.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::scan {

// Longer scans are given up.
inline constexpr unsigned kSuiteScanSeconds = 120;

// Scans the source that the run `id` had. `marks`: the run redirects CUDA, so that its device
// records say which sites ran. `page`: the folder of the page, for links. Never fails:
// CudaUses::unknown says why nothing is known.
[[nodiscard]] reports::CudaUses scan_suite(const store::Store& store, const fs::path& results,
                                           const std::string& id, bool marks, const fs::path& page);

}  // namespace compat::scan
