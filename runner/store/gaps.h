// The gap log as it is kept: gaps, where runs met them, and what was set by hand. Not for finding
// gaps, ranking them or deciding that one is closed (runner/analysis).
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/gap.h"
#include "runner/store/store.h"

namespace compat::store {

struct StoredGap {
    GapFacts facts;
    std::string status = "open";    // kGapStatusNames
    std::string issue;              // upstream's; empty: none is known
    std::set<std::string> by_hand;  // fields that no scan and no run overrules
    bool scanned = false;           // torch's own API tells of it
    std::string first_seen;         // a run's id, or "scan"
    std::string first_torch;
    std::string last_seen;  // a run with the newest torch that met it; "scan": no run did
    std::string last_torch;
    std::optional<std::string> closed_by;  // the run in which it no longer showed, or "scan"
};

// A hit in the latest run, on a target, in which its test ran.
struct CurrentHit {
    GapHit hit;
    std::string suite;
    std::string run;
};

// Fields that may be set by hand.
inline constexpr std::array<std::string_view, 6> kGapFields{"equivalent", "description", "severity",
                                                            "action",     "status",      "issue"};

// Errors as Store's.
class GapLog {
  public:
    explicit GapLog(const Store& store) : store_(store) {}

    // Nothing here changes what was set by hand but `set`.

    // Adds what a scan of `device` found, and renews what was found before. What only scans with
    // the same torch or older ones know, and this one does not, is fixed.
    [[nodiscard]] Expected<void> put_scan(const std::vector<GapFacts>& gaps,
                                          std::string_view device, std::string_view torch);
    // A run's hits, in place of those it had; `count` is 0 for a test that the gap had blocked and
    // that passed without it. `met` has the facts of every gap that was met: one that is not in
    // the log is added with them, one that was fixed with the same torch or an older one is open
    // again.
    [[nodiscard]] Expected<void> put_hits(std::string_view run, const std::vector<GapFacts>& met,
                                          const std::vector<GapHit>& hits);
    [[nodiscard]] Expected<void> close(const std::vector<GapKey>& gaps, std::string_view run);
    // `value` as it is. Errors: usage, for a gap that is not in the log.
    [[nodiscard]] Expected<void> set(const GapKey& gap, std::string_view field,
                                     std::string_view value);

    // What another log holds and this one lacks: gaps, and fields that were set by hand. That one
    // may be damaged: what of it can be read is taken.
    struct TakenOver {
        long entries = 0;
        std::optional<Error> broke_off;
    };
    [[nodiscard]] Expected<TakenOver> take_over(const GapLog& from);

    // In the order of their symbols.
    [[nodiscard]] Expected<std::vector<StoredGap>> gaps() const;
    [[nodiscard]] Expected<std::vector<GapHit>> hits(std::string_view run) const;
    // Each test's, in the latest run in which it ran: docs/guide/gaps.md, "Ranking".
    [[nodiscard]] Expected<std::vector<CurrentHit>> current_hits() const;
    // Tests that a gap blocked and that have not passed on the same device since, by all runs but
    // `before`, whose device is the one asked about.
    [[nodiscard]] Expected<std::vector<BlockedTest>> blocked_tests(std::string_view before) const;

  private:
    const Store& store_;
};

}  // namespace compat::store
