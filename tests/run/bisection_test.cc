#include "runner/run/scan/bisection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace compat::run {
namespace {

// Changes that break test 7, alone or as a pair.
struct Breaking {
    std::set<size_t> alone;
    std::pair<size_t, size_t> pair{99, 99};
    int trials = 0;

    Expected<std::optional<std::vector<size_t>>> operator()(const Changes& changes) {
        ++trials;
        const auto has = [&](size_t one) {
            return std::find(changes.begin(), changes.end(), one) != changes.end();
        };
        const bool broken = std::any_of(alone.begin(), alone.end(), has) ||
                            (has(pair.first) && has(pair.second));
        return broken ? std::vector<size_t>{7} : std::vector<size_t>{};
    }
};

Bisection found(Breaking& breaking, size_t changes, const std::vector<size_t>& groups = {}) {
    const std::vector<size_t> all = groups.empty() ? std::vector<size_t>(changes, 0) : groups;
    auto result = bisect(all, [&](const Changes& some) { return breaking(some); });
    EXPECT_TRUE(result);
    return result.value_or(Bisection{});
}

std::set<size_t> dropped_of(const Bisection& found) {
    std::set<size_t> dropped;
    for (const DroppedChange& one : found.dropped) {
        dropped.insert(one.change);
        EXPECT_EQ(one.broken, std::vector<size_t>{7});
    }
    return dropped;
}

TEST(Bisection, DropsEachChangeThatBreaksAndNoOther) {
    for (size_t first = 0; first < 9; ++first)
        for (size_t second = 0; second < 9; ++second) {
            Breaking breaking{{first, second}};
            const Bisection result = found(breaking, 9);
            EXPECT_EQ(dropped_of(result), (std::set<size_t>{first, second}));
            EXPECT_EQ(result.kept.size() + result.dropped.size(), 9u);
        }
}

TEST(Bisection, TakesOneTrialIfNothingBreaksAndFewIfOneOfManyDoes) {
    Breaking nothing;
    EXPECT_EQ(found(nothing, 64).kept.size(), 64u);
    EXPECT_EQ(nothing.trials, 1);
    Breaking one{{37}};
    EXPECT_EQ(dropped_of(found(one, 64)), std::set<size_t>{37});
    EXPECT_LE(one.trials, 2 * 6 + 1);
}

TEST(Bisection, OfAPairThatBreaksTogetherOneStays) {
    Breaking pair{{}, {2, 6}};
    const Bisection result = found(pair, 8);
    EXPECT_EQ(dropped_of(result), std::set<size_t>{6});
    EXPECT_EQ(result.kept.size(), 7u);
}

TEST(Bisection, HalvesBetweenFilesFirst) {
    std::vector<Changes> tried;
    const auto result = bisect({0, 1, 1, 1, 1}, [&](const Changes& changes) {
        tried.push_back(changes);
        const bool broken = std::find(changes.begin(), changes.end(), 0) != changes.end();
        return Expected<std::optional<std::vector<size_t>>>(broken ? std::vector<size_t>{7}
                                                                   : std::vector<size_t>{});
    });
    ASSERT_TRUE(result);
    EXPECT_EQ(tried, (std::vector<Changes>{{0, 1, 2, 3, 4}, {0}, {1, 2, 3, 4}}));
    EXPECT_EQ(result->kept, (Changes{1, 2, 3, 4}));
}

TEST(Bisection, KeepsNothingThatItHadNoTimeToTry) {
    Breaking breaking{{0}};
    const auto result =
        bisect({0, 0, 0, 0}, [&](const Changes& changes) -> decltype(breaking(changes)) {
            if (breaking.trials == 2) return std::nullopt;
            return breaking(changes);
        });
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->kept.empty() && result->dropped.empty());
    EXPECT_EQ(result->undecided, (Changes{0, 1, 2, 3}));
}

TEST(Bisection, EndsWithTheErrorOfATrial) {
    const auto result = bisect({0, 0}, [](const Changes&) {
        return Expected<std::optional<std::vector<size_t>>>(fail(ErrorKind::io, "no"));
    });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, "no");
}

}  // namespace
}  // namespace compat::run
