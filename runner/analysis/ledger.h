// One test's history in the runs of a series: since when it is broken, when it was last good, how
// often it changed, and whether it is flaky. Pure. Not for which runs make a series
// (store/comparable.h) nor for what a run changes (changes/change_class.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "parsers/record.h"

namespace compat::analysis {

// A test in one run. Runs that do not have the test have no entry.
struct LedgerEntry {
    std::uint32_t run = 0;  // index in the series, the oldest first
    parsers::State state = parsers::State::not_run;
    bool retried = false;  // it passed only when retried
};

enum class Standing { passing, flaky, broken, idle };
struct StandingRow {
    std::string_view name;
    std::string_view means;
};
inline constexpr std::array<StandingRow, 4> kStandings{{
    {"passing", "is good, and nothing shows that it is flaky"},
    {"flaky",
     "passed only when retried, or broke and was good again while source and torch stayed"},
    {"broken", "is broken, for three runs at least if it is known to be flaky"},
    {"idle", "is skipped or not run"},
}};
[[nodiscard]] constexpr std::string_view name_of(Standing standing) {
    return kStandings[static_cast<std::size_t>(standing)].name;
}

// The number of latest runs, of those in which the test was good or broken, that decide whether it
// is flaky.
inline constexpr std::size_t kFlakyWindow = 20;
// A test that breaks in this many runs in a row is not flaky.
inline constexpr std::size_t kBrokenRow = 3;

struct Ledger {
    Standing standing = Standing::idle;
    std::uint32_t since = 0;  // the run in which the standing began
    // The ends of the latest row of broken runs, even if it is over.
    std::optional<std::uint32_t> last_good;  // the good run before it; empty: there is none
    std::optional<std::uint32_t> first_bad;  // empty: it was never broken
    std::uint32_t flips = 0;                 // from good to broken and back
    std::uint32_t ran = 0, broke = 0;        // runs in which it was good or broken; broken
    std::uint32_t retried = 0;               // runs in which it passed only when retried
    // The number of latest runs, at most kFlakyWindow, and of those that show that it is flaky.
    std::uint32_t window = 0, flaky = 0;

    [[nodiscard]] double flaky_rate() const {
        return window == 0 ? 0 : static_cast<double>(flaky) / window;
    }
    friend bool operator==(const Ledger&, const Ledger&) = default;
};

// `entries`: oldest first, not empty. `versions`, by run: equal numbers mean the same source and
// the same torch.
[[nodiscard]] Ledger ledger_of(std::span<const LedgerEntry> entries,
                               std::span<const std::uint32_t> versions);

// A flaky test runs on, and its failures do not fail a night. A broken test is never among them.
[[nodiscard]] constexpr bool is_quarantined(const Ledger& ledger) {
    return ledger.standing == Standing::flaky;
}

// How much longer a test or module takes: the median of its last three runs against the median of
// up to ten before them. Empty: fewer than three runs in either.
struct Growth {
    double before_s = 0, now_s = 0;
    [[nodiscard]] double more_s() const { return now_s - before_s; }
};
[[nodiscard]] std::optional<Growth> growth_of(std::span<const float> seconds);  // oldest first
inline constexpr std::size_t kRunsOfGrowth = 13;

}  // namespace compat::analysis
