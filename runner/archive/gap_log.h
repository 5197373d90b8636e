// Updates the gap log from a run: adds its hits and closes gaps that it no longer meets. Not here:
// reading the log (reports/gaps.h), and what scans and users write into it (gap_record.h).
#pragma once

#include <string>

#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::archive {

// For a run that has ended; again for the same run changes nothing.
[[nodiscard]] Expected<void> log_gaps(const store::Store& store, const std::string& run);

}  // namespace compat::archive
