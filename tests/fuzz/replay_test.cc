// Every fuzzing target on its first corpus: what libFuzzer begins with holds in any build.
#include <gtest/gtest.h>

#include "tests/fuzz/targets.h"

namespace compat::fuzz {
namespace {

class Replay : public ::testing::TestWithParam<Target> {};

TEST_P(Replay, SeedsHold) {
    const auto seeds = GetParam().seeds();
    EXPECT_GT(seeds.size(), 10U);
    for (const std::string& seed : seeds) {
        EXPECT_EQ(GetParam().broken(seed), "") << seed.substr(0, 2000);
        // As a mutation would cut it.
        EXPECT_EQ(GetParam().broken(std::string_view(seed).substr(0, seed.size() / 2)), "");
    }
}

INSTANTIATE_TEST_SUITE_P(All, Replay, ::testing::ValuesIn(targets()),
                         [](const auto& row) { return std::string(row.param.name); });

}  // namespace
}  // namespace compat::fuzz
