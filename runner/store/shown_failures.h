// The failures that fresh processes have shown in earlier runs, for a run that forks its modules'
// processes: it need not confirm them again (runner/run/recording/fork_confirmations.h). Not for
// comparing runs (compared_runs.h).
#pragma once

#include <map>
#include <set>
#include <string>

#include "runner/store/store.h"

namespace compat::store {

struct ShownFailures {
    // By test: signatures of failures that a fresh process has had since the test last passed.
    std::map<std::string, std::set<std::string>> signatures;
    // The modules that failed in nothing else when they were last forked.
    std::set<std::string> modules;
};

// Looks at the last ten runs that `run` may be compared with (comparable.h), so that a fresh process
// shows each failure again in every eleventh run at the latest. Errors as Store's.
[[nodiscard]] Expected<ShownFailures> shown_failures(const Store& store, const RunInfo& run);

}  // namespace compat::store
