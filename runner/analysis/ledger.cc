#include "runner/analysis/ledger.h"

#include <algorithm>
#include <vector>

#include "runner/analysis/comparison.h"

namespace compat::analysis {

namespace {

// Entries that are good, or broken, one after the other; idle ones between them do not count.
struct StateRow {
    bool good = false;
    std::uint32_t first = 0, last = 0;  // runs
    std::size_t size = 0;
};

std::vector<StateRow> rows_of(std::span<const LedgerEntry> entries) {
    std::vector<StateRow> rows;
    for (const LedgerEntry& entry : entries) {
        const StateKind kind = kind_of(entry.state);
        if (kind == StateKind::idle) continue;
        const bool good = kind == StateKind::good;
        if (rows.empty() || rows.back().good != good)
            rows.push_back({good, entry.run, entry.run, 0});
        rows.back().last = entry.run;
        ++rows.back().size;
    }
    return rows;
}

// Whether source and torch were the same from the good run before the row `at` to the good run
// after it.
bool nothing_changed(const std::vector<StateRow>& rows, std::size_t at,
                     std::span<const std::uint32_t> versions) {
    const std::uint32_t version = versions[rows[at - 1].last];
    return std::all_of(versions.begin() + rows[at - 1].last,
                       versions.begin() + rows[at + 1].first + 1,
                       [&](std::uint32_t each) { return each == version; });
}

}  // namespace

Ledger ledger_of(std::span<const LedgerEntry> entries, std::span<const std::uint32_t> versions) {
    Ledger ledger;
    const std::vector<StateRow> rows = rows_of(entries);
    std::vector<std::uint32_t> ran;
    for (const LedgerEntry& entry : entries) {
        if (kind_of(entry.state) == StateKind::idle) continue;
        ran.push_back(entry.run);
        ledger.broke += kind_of(entry.state) == StateKind::broken;
        ledger.retried += entry.retried;
    }
    ledger.ran = static_cast<std::uint32_t>(ran.size());
    ledger.flips = rows.empty() ? 0 : static_cast<std::uint32_t>(rows.size() - 1);
    for (std::size_t i = rows.size(); i-- > 0;)
        if (!rows[i].good) {
            ledger.first_bad = rows[i].first;
            if (i > 0) ledger.last_good = rows[i - 1].last;
            break;
        }

    // Signs in the latest runs that it is flaky.
    ledger.window = static_cast<std::uint32_t>(std::min(ran.size(), kFlakyWindow));
    const std::uint32_t from = ran.empty() ? 0 : ran[ran.size() - ledger.window];
    std::optional<std::uint32_t> first_sign;
    const auto sign = [&](std::uint32_t run, std::size_t count) {
        ledger.flaky += static_cast<std::uint32_t>(count);
        first_sign = std::min(first_sign.value_or(run), run);
    };
    for (const LedgerEntry& entry : entries)
        if (entry.retried && entry.run >= from) sign(entry.run, 1);
    for (std::size_t i = 1; i + 1 < rows.size(); ++i)
        if (!rows[i].good && rows[i].size < kBrokenRow && rows[i].first >= from &&
            nothing_changed(rows, i, versions))
            sign(rows[i].first, rows[i].size);

    const bool broken_now = !rows.empty() && !rows.back().good;
    if (first_sign && !(broken_now && rows.back().size >= kBrokenRow)) {
        ledger.standing = Standing::flaky;
        ledger.since = *first_sign;
        if (broken_now) ledger.flaky += static_cast<std::uint32_t>(rows.back().size);
    } else if (kind_of(entries.back().state) == StateKind::idle) {
        ledger.standing = Standing::idle;
        auto first = entries.end();
        while (first != entries.begin() && kind_of((first - 1)->state) == StateKind::idle) --first;
        ledger.since = first->run;
    } else {
        ledger.standing = broken_now ? Standing::broken : Standing::passing;
        ledger.since = rows.back().first;
    }
    return ledger;
}

std::optional<Growth> growth_of(std::span<const float> seconds) {
    constexpr std::size_t kNow = 3, kBefore = kRunsOfGrowth - kNow;
    if (seconds.size() < 2 * kNow) return std::nullopt;
    const auto median = [](std::span<const float> some) {
        std::vector<float> sorted(some.begin(), some.end());
        const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
        std::nth_element(sorted.begin(), middle, sorted.end());
        return static_cast<double>(*middle);
    };
    const auto before = seconds.first(seconds.size() - kNow);
    return Growth{median(before.last(std::min(before.size(), kBefore))),
                  median(seconds.last(kNow))};
}

}  // namespace compat::analysis
