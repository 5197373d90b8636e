// Waits for another process that has locked the database. Not for the event loop of a run, which
// must not wait (recording/recorder.h).
#pragma once

#include <functional>

#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::run {

// Calls `write` again while the database is busy, and prints once that it waits.
// Errors: those of `write`; interrupted, after one of kTerminationSignals while it waits.
[[nodiscard]] Expected<void> retry_while_busy(store::Store& store,
                                              const std::function<Expected<void>()>& write);

}  // namespace compat::run
