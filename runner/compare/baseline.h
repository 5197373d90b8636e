// Which runs `runner compare` compares: those that are named, else the latest run with the one
// before it, or the newest run of each device or imported job. Not for comparing them
// (compare_runs.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reports/compare/compare.h"
#include "runner/base/error.h"
#include "runner/compare/compare_runs.h"
#include "runner/store/store.h"

namespace compat::compare {

struct RunDatabase {
    const store::Store& store;
    std::filesystem::path results;  // its folder
};

enum class Chosen { by_past, by_device, by_job };

struct CompareRequest {
    std::vector<std::string> runs;  // names: none, RUN, BASELINE RUN; by device or job any number
    Chosen chosen = Chosen::by_past;
    std::vector<reports::ChangeClass> fail_on;
};

// `baselines` holds the baseline; it may be `runs`. Errors: usage, if a name means no run or there
// is nothing to compare with.
[[nodiscard]] Expected<reports::CompareView> compare(const RunDatabase& runs,
                                                     const RunDatabase& baselines,
                                                     const CompareRequest& request);
// The run beside the latest comparable run before it; empty: there is none. For reports, which read
// in one snapshot.
[[nodiscard]] Expected<std::optional<reports::CompareView>> compare_with_past(
    const StoredSide& run);

}  // namespace compat::compare
