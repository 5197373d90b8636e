// The versions of torch of one night side by side: what only the newer one breaks or mends, and
// what breaks with both in another way. Not for a cell beside its own past (cell.h).
#pragma once

#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/nightly/night.h"

namespace compat::nightly {

// Each version beside the next older one that ran, by suite and column. Flaky tests are left out.
[[nodiscard]] Expected<std::vector<TorchPair>> torch_pairs(const fs::path& results,
                                                           const std::vector<CellResult>& cells);

}  // namespace compat::nightly
