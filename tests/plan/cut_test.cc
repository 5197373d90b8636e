// Shards: every module once, of about equal duration, and the same cut on every machine.
#include "runner/plan/cut.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace compat::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Plan plan_of(const std::vector<double>& costs) {
    Plan plan;
    plan.has_durations = true;
    for (std::size_t i = 0; i < costs.size(); ++i)
        plan.jobs.push_back({fmt::format("test/test_{:02}.py", i), {}, 0, costs[i]});
    return plan;
}

std::vector<double> up_to(int last) {
    std::vector<double> costs(static_cast<std::size_t>(last));
    std::iota(costs.begin(), costs.end(), 1);
    return costs;
}

double load(const std::vector<Job>& shard) {
    return std::accumulate(shard.begin(), shard.end(), 0.0,
                           [](double sum, const Job& job) { return sum + job.cost; });
}

TEST(Cut, ShardsAreBalancedAndHoldEveryModuleOnce) {
    const Plan plan = plan_of(up_to(40));
    const Cut made = cut(plan, {}, 3);
    ASSERT_EQ(made.shards.size(), 3u);
    std::multiset<std::string> modules;
    for (const auto& shard : made.shards) {
        EXPECT_NEAR(load(shard), 820.0 / 3, 10);
        for (const Job& job : shard) modules.insert(job.module);
    }
    EXPECT_EQ(modules.size(), 40u);
    EXPECT_EQ(std::set<std::string>(modules.begin(), modules.end()).size(), 40u);
}

TEST(Cut, IsTheSameInWhateverOrderTheModulesStart) {
    Plan plan = plan_of(up_to(40));
    const Cut first = cut(plan, {}, 4);
    std::reverse(plan.jobs.begin(), plan.jobs.end());
    const Cut second = cut(plan, {}, 4);
    EXPECT_EQ(first.id, second.id);
    for (std::size_t i = 0; i < 4; ++i) {
        std::set<std::string> a, b;
        for (const Job& job : first.shards[i]) a.insert(job.module);
        for (const Job& job : second.shards[i]) b.insert(job.module);
        EXPECT_EQ(a, b);
        // The order of the plan is kept.
        EXPECT_EQ(first.shards[i].front().module, second.shards[i].back().module);
    }
}

TEST(Cut, ItsIdTellsCutsApart) {
    const Plan plan = plan_of(up_to(40));
    Plan slow = plan;
    slow.jobs.front().cost = 1000;
    Plan parts = plan;
    parts.jobs.front().only = {"test/test_00.py::A::test_x"};
    Selection keyword;
    keyword.keyword = "cuda";
    Selection options;
    options.options = {"--runslow"};
    const std::set<std::string> ids{cut(plan, {}, 3).id,      cut(plan, {}, 2).id,
                                    cut(slow, {}, 3).id,      cut(parts, {}, 3).id,
                                    cut(plan, keyword, 3).id, cut(plan, options, 3).id};
    EXPECT_EQ(ids.size(), 6u);
}

TEST(Cut, AShardMayBeEmpty) { EXPECT_THAT(cut(plan_of({1, 2}), {}, 3).shards[2], IsEmpty()); }

TEST(ShardsWithin, AreAsFewAsTheTargetAllows) {
    const Plan plan = plan_of(std::vector<double>(60, 10));
    EXPECT_EQ(shards_within(plan, 600, 1).value(), 1u);
    EXPECT_EQ(shards_within(plan, 100, 1).value(), 6u);
    EXPECT_EQ(shards_within(plan, 100, 2).value(), 3u);
    EXPECT_EQ(shards_within(plan, 99, 1).value(), 7u) << "nine of them take 90 s";
    const std::size_t many = shards_within(plan_of(up_to(40)), 50, 1).value();
    for (const auto& shard : cut(plan_of(up_to(40)), {}, many).shards) EXPECT_LE(load(shard), 50);
}

TEST(ShardsWithin, AModuleIsNotCut) {
    const Plan plan = plan_of({500, 10, 10, 10});
    const std::size_t shards = shards_within(plan, 30, 1).value();
    EXPECT_EQ(shards, 2u);
    EXPECT_THAT(cut(plan, {}, shards).shards[0], testing::SizeIs(1));
    EXPECT_EQ(shards_within(plan_of({500, 500, 500}), 30, 1).value(), 3u);
}

TEST(ShardsWithin, NeedsDurations) {
    Plan plan = plan_of({1, 2});
    plan.has_durations = false;
    const auto shards = shards_within(plan, 30, 1);
    ASSERT_FALSE(shards);
    EXPECT_EQ(shards.error().kind, ErrorKind::usage);
    EXPECT_THAT(shards.error().advice, testing::HasSubstr("--shards"));
}

TEST(ExpectedSeconds, AreThoseOfBusyChildrenOrOfTheLongestModule) {
    const Plan plan = plan_of({10, 10, 10, 10});
    EXPECT_DOUBLE_EQ(expected_seconds(plan.jobs, 1), 40);
    EXPECT_DOUBLE_EQ(expected_seconds(plan.jobs, 4), 10);
    EXPECT_DOUBLE_EQ(expected_seconds(plan_of({30, 10}).jobs, 4), 30);
    EXPECT_DOUBLE_EQ(expected_seconds({}, 4), 0);
}

TEST(ParseShard, TakesAPartOfSeveral) {
    for (const char* wrong : {"", "3", "0/3", "4/3", "1/", "/2", "1/2/3", "-1/2", "1/10001"})
        EXPECT_FALSE(parse_shard(wrong)) << wrong;
    EXPECT_EQ(parse_shard("2/5")->count, 5u);
    EXPECT_EQ(parse_shard("1/10000")->count, kMaxShards);
    EXPECT_EQ(parse_shard_index("17"), 17u);
    for (const char* wrong : {"", "0", "-1", "1/2", "x", "10001", "1 "})
        EXPECT_EQ(parse_shard_index(wrong), 0u) << wrong;
}

}  // namespace
}  // namespace compat::plan
