// The ledger of a test, from strips of states: "." good, "F" failed, "C" crashed, "s" skipped,
// "r" passed only when retried, " " not in that run. A "|" changes source or torch.
#include "runner/analysis/ledger.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace compat::analysis {
namespace {

using parsers::State;

Ledger ledger(std::string_view strip) {
    std::vector<LedgerEntry> entries;
    std::vector<std::uint32_t> versions;
    std::uint32_t version = 1;
    for (const char c : strip) {
        if (c == '|') {
            ++version;
            continue;
        }
        const auto run = static_cast<std::uint32_t>(versions.size());
        versions.push_back(version);
        if (c == ' ') continue;
        const State state = c == 'F'   ? State::failed
                            : c == 'C' ? State::crashed
                            : c == 's' ? State::skipped
                                       : State::passed;
        entries.push_back({run, state, c == 'r'});
    }
    return ledger_of(entries, versions);
}

struct SinceCase {
    const char* why;
    std::string_view strip;
    Standing standing;
    std::uint32_t since;
    std::optional<std::uint32_t> last_good, first_bad;
};

TEST(Ledger, SaysSinceWhen) {
    const std::vector<SinceCase> rows{
        {"always good", "....", Standing::passing, 0, {}, {}},
        {"the first run", "F", Standing::broken, 0, {}, 0},
        {"always broken", "FFF", Standing::broken, 0, {}, 0},
        {"broke last night", "...F", Standing::broken, 3, 2, 3},
        {"another broken state is the same row", "..FCF", Standing::broken, 2, 1, 2},
        {"fixed", "..FFF..", Standing::passing, 5, 1, 2},
        {"skips between do not end a row", "..FsFF", Standing::broken, 2, 1, 2},
        {"skipped now", "..Fss", Standing::idle, 3, 1, 2},
        {"never ran", "sss", Standing::idle, 0, {}, {}},
        {"came later", "   .F", Standing::broken, 4, 3, 4},
        {"a change broke it, another fixed it", "..|F|..", Standing::passing, 3, 1, 2},
        {"a fix may come at once", "..F|..", Standing::passing, 3, 1, 2},
        {"broke and was good again though nothing changed", "..F..", Standing::flaky, 2, 1, 2},
        {"two nights may be flaky", "..FF.", Standing::flaky, 2, 1, 2},
        {"three are not", "..FFF.", Standing::passing, 5, 1, 2},
        {"known to be flaky, broken tonight", "..F...F", Standing::flaky, 2, 5, 6},
        {"known to be flaky, broken for three nights", "..F...FFF", Standing::broken, 6, 5, 6},
        {"passed when retried", "..r.", Standing::flaky, 2, {}, {}},
        {"flaky, skipped now", "..r.s", Standing::flaky, 2, {}, {}},
    };
    for (const SinceCase& row : rows) {
        const Ledger is = ledger(row.strip);
        EXPECT_EQ(name_of(is.standing), name_of(row.standing)) << row.why;
        EXPECT_EQ(is.since, row.since) << row.why;
        EXPECT_EQ(is.last_good, row.last_good) << row.why;
        EXPECT_EQ(is.first_bad, row.first_bad) << row.why;
    }
}

TEST(Ledger, ABrokenTestIsNeverQuarantined) {
    for (const std::string_view strip : {"F", "...F", "rrrFFF", "F.F.F.FFF", "..FFF", "FFFFFFF"})
        EXPECT_FALSE(is_quarantined(ledger(strip))) << strip;
    for (const std::string_view strip : {"..F.", "r..F", ".F.FF"})
        EXPECT_TRUE(is_quarantined(ledger(strip))) << strip;
}

TEST(Ledger, CountsFlipsAndRetries) {
    const Ledger is = ledger("..F.sr.FF.");
    EXPECT_EQ(is.flips, 4u);
    EXPECT_EQ(is.ran, 9u);
    EXPECT_EQ(is.broke, 3u);
    EXPECT_EQ(is.retried, 1u);
    EXPECT_EQ(is.flaky, 4u);
    EXPECT_DOUBLE_EQ(is.flaky_rate(), 4.0 / 9);
}

TEST(Ledger, OldFlakinessIsForgotten) {
    const std::string quiet(kFlakyWindow - 1, '.');
    EXPECT_EQ(ledger("r" + quiet).standing, Standing::flaky);
    EXPECT_EQ(ledger("r." + quiet).standing, Standing::passing);
    EXPECT_EQ(ledger(".F." + quiet).standing, Standing::passing);
}

TEST(Ledger, GrowthIsTheMedianOfTheLastThreeAgainstThoseBefore) {
    const std::vector<float> few{1, 1, 1, 2, 2}, one_slow{1, 1, 1, 1, 9, 1},
        grown{5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 1, 9, 1, 1, 1, 1, 1, 1, 1, 1, 3, 2, 4};
    EXPECT_FALSE(growth_of(few));
    EXPECT_DOUBLE_EQ(growth_of(one_slow)->more_s(), 0);
    EXPECT_DOUBLE_EQ(growth_of(grown)->before_s, 1);
    EXPECT_DOUBLE_EQ(growth_of(grown)->now_s, 3);
}

}  // namespace
}  // namespace compat::analysis
