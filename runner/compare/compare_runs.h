// Reads two stored runs, of one database or of two, and compares them test by test. Holds the state
// of each test, and details only of those that differ. Not for which runs are compared (baseline.h)
// nor for the classes (runner/analysis/changes/change_class.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/compare/compare.h"
#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::compare {

// A run and the database that holds it.
struct StoredSide {
    const store::Store* store = nullptr;
    std::string id;
};

[[nodiscard]] Expected<reports::ComparedRun> describe_run(const StoredSide& side);
[[nodiscard]] Expected<reports::Comparison> compare_runs(const StoredSide& baseline,
                                                         const StoredSide& run);

}  // namespace compat::compare
