// One cell of a night: how it is started or continued, what its plan is, and what its run says. Not
// for the night as a whole (nightly.h).
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings.h"
#include "runner/nightly/night.h"
#include "runner/run/resume.h"
#include "suites/nightly.h"

namespace compat::nightly {

// Settings that all cells share.
struct NightSettings {
    fs::path results;
    std::string isolation;  // of cells without one
    config::Invocation invocation;
    run::ParseCommand parse;
    int verbosity = 0;
    // Why nobody knows the newest torch; cells that ask for it cannot run.
    std::optional<Error> no_newest_torch{};
};

// Runs the cell. `begun` is the id of its run in this night, if there is one: that run continues,
// or stays if it is complete. If `begun` is empty or its run is not stored, a new run starts, and
// `on_begin` is called with its id. Never fails: the result says why the cell could not run.
[[nodiscard]] CellResult run_cell(const suites::NightlyCell& cell, const NightSettings& night,
                                  std::string begun,
                                  const std::function<void(const std::string& id)>& on_begin);

struct CellPlan {
    std::size_t modules = 0, unknown = 0;  // unknown: without an earlier duration
    double seconds = 0;                    // of the known ones, one after the other
    int jobs = 1;
};
[[nodiscard]] Expected<CellPlan> plan_cell(const suites::NightlyCell& cell,
                                           const NightSettings& night);

}  // namespace compat::nightly
