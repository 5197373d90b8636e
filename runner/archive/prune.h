// Deletes stored runs whole: rows and folder. Not for printing (runner/cli/results/prune.cc) or for
// shards that only have a folder: `merge` still needs these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/base/clock.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

// Deletes, among runs that are comparable with each other (runner/store/comparable.h), all but the
// newest `keep`, or those that began before `before`.
struct PruneRule {
    std::optional<std::int64_t> keep;
    std::optional<WallTime> before;
    std::string series;  // empty: of every series
};

struct RunToDelete {
    store::RunSummary run;
    std::uint64_t bytes = 0;         // of its folder
    std::vector<std::string> notes;  // what is lost with it besides its own results
};

// A run that the rule names and that stays.
struct RunToKeep {
    std::string id;
    std::string why;
};

struct PrunePlan {
    std::vector<RunToDelete> runs;  // oldest first
    std::vector<RunToKeep> kept;
};

// Keeps runs that go on and the last complete run of each group, whatever the rule says.
[[nodiscard]] Expected<PrunePlan> plan_prune(const store::Store& store, const fs::path& results,
                                             const PruneRule& rule);

// Deletes the run's rows, then its folder, which first leaves the folder of runs in one step. After
// an interruption the run is either whole or gone: a folder whose rows are gone is stored again by
// `reparse --all`. Errors: usage, where a runner uses the run; busy; io.
[[nodiscard]] Expected<void> delete_run(store::Store& store, const fs::path& results,
                                        const store::RunSummary& run);

// Removes the folders that an interrupted `delete_run` left, and lets `latest` name the newest run
// where it names none. Call before and after deleting.
[[nodiscard]] Expected<void> tidy_results(const store::Store& store, const fs::path& results);

}  // namespace compat::archive
