// The stored gap log: gaps, where runs met them, and fields that users set. Not for finding gaps,
// ranking them or deciding that one is closed (runner/analysis).
#pragma once

#include <functional>
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
    std::string status = "open";          // kGapStatusNames
    std::string issue;                    // link to torch's; empty: none is known
    std::set<std::string> manual_fields;  // scans and runs never overwrite them
    bool scanned = false;                 // a scan of torch's API found it
    std::string first_seen;               // a run's id, or "scan"
    std::string first_torch;
    std::string last_seen;  // the latest run with the newest torch that met it, else "scan"
    std::string last_torch;
    std::optional<std::string> closed_by;  // a run's id, or "scan"
};

// A hit in the latest run of its test on a target.
struct CurrentHit {
    GapHit hit;
    std::string suite;
    std::string run;
};

// A run's changes in the log.
struct GapsOfRun {
    std::vector<GapFacts> met;   // of each gap that it met: new gaps are added, and gaps that were
                                 // fixed with this or an older torch are open again
    std::vector<GapHit> hits;    // instead of the run's earlier hits; `count` is 0 for a test that
                                 // the gap had blocked and that passed without it
    std::vector<GapKey> closed;  // a manually set status stays
};

// Fields that users may set.
inline constexpr std::array<std::string_view, 6> kGapFields{"equivalent", "description", "severity",
                                                            "action",     "status",      "issue"};

// Errors as Store's.
class GapLog {
  public:
    explicit GapLog(const Store& store) : store_(store) {}

    // Only `set` changes fields that users set.

    // Adds or updates the gaps that a scan of `device` found. A gap that only scans of this or an
    // older torch found, and this scan did not, becomes fixed.
    [[nodiscard]] Expected<void> put_scan(const std::vector<GapFacts>& gaps,
                                          std::string_view device, std::string_view torch);
    // Writes what `compute` returns. No other process changes the log between what `compute` reads
    // of it and the end of the write.
    [[nodiscard]] Expected<void> put_run(std::string_view run,
                                         const std::function<Expected<GapsOfRun>()>& compute);
    // Errors: usage, for a gap that is not in the log.
    [[nodiscard]] Expected<void> set(const GapKey& gap, std::string_view field,
                                     std::string_view value);

    // Adds gaps and manual fields that another log has and this one lacks. If the other is damaged,
    // adds what can be read.
    struct Added {
        long entries = 0;
        std::optional<Error> read_error;
    };
    [[nodiscard]] Expected<Added> add_missing_from(const GapLog& from);

    // Sorted by symbol.
    [[nodiscard]] Expected<std::vector<StoredGap>> gaps() const;
    [[nodiscard]] Expected<std::vector<GapHit>> hits(std::string_view run) const;
    // Hits of each test's latest run: docs/reference/gaps.md, "Ranking".
    [[nodiscard]] Expected<std::vector<CurrentHit>> current_hits() const;
    // Tests that a gap blocked in a run other than `before` and that have not passed on the same
    // device since. The device is that of `before`.
    [[nodiscard]] Expected<std::vector<BlockedTest>> blocked_tests(std::string_view before) const;

  private:
    const Store& store_;
};

}  // namespace compat::store
