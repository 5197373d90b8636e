// Waiting for another process that holds the database. Not for a run that is under way: it goes on
// and stores later (recorder.h).
#pragma once

#include <functional>

#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::run {

// Calls `write` until it is not refused because the database is busy, and says that it waits.
// Errors: those of `write`; interrupted, after SIGINT, SIGTERM or SIGHUP while it waits.
[[nodiscard]] Expected<void> when_free(store::Store& store,
                                       const std::function<Expected<void>()>& write);

}  // namespace compat::run
