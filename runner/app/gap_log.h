// What a run has to do with the gap log: its hits go in, gaps that it no longer meets are closed.
// Not here: the commands about the log (commands_gaps.cc).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/gaps.h"
#include "runner/base/error.h"
#include "runner/store/store.h"

namespace compat::app {

// For a run that has ended; again for the same run changes nothing.
[[nodiscard]] Expected<void> log_gaps(const store::Store& store, const std::string& run);

// The log as it stands, ranked by what each test met when it last ran. `results`: the folder of the
// store; relative links start at `report_folder`.
[[nodiscard]] Expected<std::vector<reports::GapView>> current_gaps(
    const store::Store& store, const std::filesystem::path& results,
    const std::filesystem::path& report_folder);
// Of one run: what it met itself.
[[nodiscard]] Expected<std::vector<reports::GapView>> gaps_of_run(
    const store::Store& store, const std::string& run, const std::filesystem::path& results,
    const std::filesystem::path& report_folder);

}  // namespace compat::app
