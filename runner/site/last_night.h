// Where nights keep their summaries, and what a site shows of the newest one. Not for writing a
// summary (nightly/night.h).
#pragma once

#include <string_view>
#include <vector>

#include "reports/site/site.h"
#include "runner/base/files/fs.h"

namespace compat::site {

inline constexpr std::string_view kNights = "nights";  // in the results folder
inline constexpr std::string_view kNightSummary = "summary.json";

// The folder of the night that began last, whatever time it is named by. Empty: there is none with
// a summary.
[[nodiscard]] fs::path newest_night(const fs::path& results);
// Makes it the newest one: nights/latest leads to it.
void mark_newest(const fs::path& night);

struct LastNight {
    std::vector<reports::SiteProblem> problems;       // of cells that could not run
    std::vector<reports::SiteTorchPair> torch_pairs;  // side by side, those that differ
};
// Empty, too, for a summary that cannot be read: a site does without.
[[nodiscard]] LastNight last_night(const fs::path& results);

}  // namespace compat::site
