// The gap log as reports show it: ranked, with the places where runs met each gap. Not for finding
// gaps (runner/analysis/gaps.h) nor for storing them (runner/store/gaps.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/base/gap.h"
#include "runner/base/run/run_info.h"

namespace compat::store {
struct CurrentHit;
class Store;
struct StoredGap;
}  // namespace compat::store

namespace compat::reports {

struct GapSite {
    std::string file;  // relative to the suite's root where it is under it
    int line = 0;
    std::string url;  // empty: it cannot be linked
    std::int64_t count = 0;
    std::int64_t tests = 0;
};

struct GapView {
    GapKey key;
    std::string severity;
    std::string status;
    std::string closed_by;  // a run; empty: open, or set by a person
    std::string equivalent;
    std::string description;
    std::string action;
    std::string issue;
    std::string first_seen, first_torch, last_seen, last_torch;
    std::int64_t tests = 0;            // that failed because of it
    std::int64_t unblocked_alone = 0;  // at most: tests that meet no other gap
    std::int64_t hits = 0;
    std::map<std::string, std::int64_t> diagnoses{};  // tests by what passes instead
    std::vector<GapSite> sites;                       // most frequent first, kGapSites at most
};
inline constexpr std::size_t kGapSites = 20;

// "mps (simulated)"
[[nodiscard]] std::string format_target(const GapView& gap);

struct GapSources {
    std::vector<store::StoredGap> gaps;
    std::vector<store::CurrentHit> hits;
    std::map<std::string, RunInfo> runs;  // by id
    fs::path results;                     // absolute: folder of the runs' folders
    fs::path report_folder;               // relative links start here
    bool may_copy = true;                        // as LinkSource::may_copy
};

// Sorts by tests unblocked, tests blocked, hits, severity and symbol. Reads the suites' sources to
// check links.
[[nodiscard]] std::vector<GapView> ranked_gaps(const GapSources& sources);

// The whole log, ranked by the hits of each test's last run. `results`: the folder of the store;
// relative links start at `report_folder`.
[[nodiscard]] Expected<std::vector<GapView>> current_gaps(const store::Store& store,
                                                          const fs::path& results,
                                                          const fs::path& report_folder,
                                                          bool may_copy = true);
// The gaps that one run met.
[[nodiscard]] Expected<std::vector<GapView>> gaps_of_run(const store::Store& store,
                                                         const std::string& run,
                                                         const fs::path& results,
                                                         const fs::path& report_folder,
                                                         bool may_copy = true);

// One object: {"format", "gaps": […]}; docs/reference/file-formats.md.
inline constexpr int kGapsFormat = 1;
[[nodiscard]] std::string gaps_json(const std::vector<GapView>& gaps);
[[nodiscard]] std::string gaps_markdown(const std::vector<GapView>& gaps);

}  // namespace compat::reports
