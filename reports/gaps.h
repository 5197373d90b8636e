// The gap log as people and programs read it: ranked, with the places where runs met each gap. Not
// for what is a gap (runner/analysis) nor for keeping them (runner/store/gaps.h).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/gap.h"

namespace compat::store {
struct CurrentHit;
struct RunInfo;
class Store;
struct StoredGap;
}  // namespace compat::store

namespace compat::reports {

struct GapSite {
    std::string file;  // relative to the suite's root where it is under it
    int line = 0;
    std::string url;  // empty: there is none that works
    std::int64_t count = 0;
    std::int64_t tests = 0;
};

struct GapView {
    GapKey key;
    std::string severity;
    std::string status;
    std::string closed_by;  // a run; empty: open, or closed by hand
    std::string equivalent;
    std::string description;
    std::string action;
    std::string issue;
    std::string first_seen, first_torch, last_seen, last_torch;
    std::int64_t tests = 0;  // that failed of it
    std::int64_t unblocked_alone =
        0;  // that would be left with no gap were it fixed alone: at most
    std::int64_t hits = 0;
    std::vector<GapSite> sites;  // most frequent first, kGapSites at most
};
inline constexpr std::size_t kGapSites = 20;

// "mps (simulated)"
[[nodiscard]] std::string target_words(const GapView& gap);

struct GapSources {
    std::vector<store::StoredGap> gaps;
    std::vector<store::CurrentHit> hits;
    std::map<std::string, store::RunInfo> runs;  // of the hits, by id
    std::filesystem::path results;               // absolute: folder of the runs' folders
    std::filesystem::path report_folder;         // relative links start here
};

// By tests unblocked, then tests blocked, then hits, then severity, then symbol. Reads the suites'
// sources, to check links.
[[nodiscard]] std::vector<GapView> ranked_gaps(const GapSources& sources);

// The log as it stands, ranked by what each test met when it last ran. `results`: the folder of the
// store; relative links start at `report_folder`.
[[nodiscard]] Expected<std::vector<GapView>> current_gaps(
    const store::Store& store, const std::filesystem::path& results,
    const std::filesystem::path& report_folder);
// Of one run: what it met itself.
[[nodiscard]] Expected<std::vector<GapView>> gaps_of_run(
    const store::Store& store, const std::string& run, const std::filesystem::path& results,
    const std::filesystem::path& report_folder);

// One object: {"format", "gaps": […]}; docs/reference/file-formats.md.
inline constexpr int kGapsFormat = 1;
[[nodiscard]] std::string gaps_json(const std::vector<GapView>& gaps);
[[nodiscard]] std::string gaps_markdown(const std::vector<GapView>& gaps);

}  // namespace compat::reports
