// What a run has to do with the gap log: its hits go in, gaps that it no longer meets are closed.
// Not here: the commands about the log (commands_gaps.cc).
#pragma once

#include <string>

#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::app {

// For a run that has ended; again for the same run changes nothing.
[[nodiscard]] Expected<void> log_gaps(store::Store& store, const std::string& run);

}  // namespace compat::app
