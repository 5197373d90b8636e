// The plan's file and the reasons beside it: values come back, and what is no such file is refused.
#include "runner/archive/shard_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::archive {
namespace {

using ::testing::HasSubstr;

ShardPlan sample() {
    ShardPlan plan;
    plan.cut = "00ff";
    plan.jobs = 4;
    plan.run.id = "s_20260101-000000-beef";
    plan.run.suite = plan.run.series = "s";
    plan.run.started = WallTime(Milliseconds(5));
    plan.run.framework = "pytest";
    plan.run.root = "/src";
    plan.run.rerun_argv = {"runner", "suites/s", "--", "-p", "x"};
    plan.run.simulated = "mps";
    plan.asked = {"s", "/src", "not slow", 3, true, {"fallback"}, {}};
    plan.shards = {{12.5, {{"a.py", {}}, {"b \xc3\xbc\n.py", {"b::C::x", "b::y[\"1\"]"}}}},
                   {{}, {}}};
    return plan;
}

class ShardPlanTest : public ::testing::Test {
  protected:
    void expect_refused(std::string_view text, std::string_view why) {
        const auto read = read_shard_plan(tree_.write("p.json", text));
        ASSERT_FALSE(read) << text;
        EXPECT_EQ(read.error().kind, ErrorKind::usage);
        EXPECT_THAT(read.error().message, HasSubstr(std::string(why)));
    }
    [[nodiscard]] Expected<ShardReasons> reasons(std::string_view text) {
        return read_shard_reasons(tree_.write("r.json", text), sample());
    }

    test::TempTree tree_;
};

TEST_F(ShardPlanTest, ValuesComeBack) {
    const auto file = tree_.root() / "p.json";
    const ShardPlan plan = sample();
    ASSERT_TRUE(write_shard_plan(file, plan));
    const auto read = read_shard_plan(file);
    ASSERT_TRUE(read) << to_line(read.error());
    EXPECT_EQ(read->cut, plan.cut);
    EXPECT_EQ(read->jobs, plan.jobs);
    EXPECT_EQ(read->run, plan.run);
    EXPECT_EQ(read->asked.keyword, plan.asked.keyword);
    EXPECT_EQ(read->asked.maxfail, plan.asked.maxfail);
    EXPECT_EQ(read->asked.flaky_fails, plan.asked.flaky_fails);
    EXPECT_EQ(read->asked.fail_on, plan.asked.fail_on);
    ASSERT_EQ(read->shards.size(), 2u);
    EXPECT_EQ(read->shards[0].expected_s, plan.shards[0].expected_s);
    EXPECT_EQ(read->shards[1].expected_s, std::nullopt);
    for (std::size_t i = 0; i < 2; ++i) {
        EXPECT_EQ(read->shards[0].modules[i].path, plan.shards[0].modules[i].path);
        EXPECT_EQ(read->shards[0].modules[i].only, plan.shards[0].modules[i].only);
    }
    EXPECT_EQ(run_id_of_shard(*read, 2), "s_20260101-000000-beef-2");
}

TEST_F(ShardPlanTest, WhatIsNoPlanIsRefused) {
    const auto file = tree_.root() / "whole.json";
    ASSERT_TRUE(write_shard_plan(file, sample()));
    std::string text = read_file(file).value();
    expect_refused("", "not a plan");
    expect_refused("[]", "not a plan");
    expect_refused(text.substr(0, text.size() / 2), "not a plan");
    expect_refused(R"({"format": 1})", "not a plan");
    expect_refused(R"({"format": 2})", "format 2");
    text.replace(text.find("s_2026"), 2, "s/");
    expect_refused(text, "id names no run");
    EXPECT_EQ(read_shard_plan(tree_.root() / "none").error().kind, ErrorKind::usage);
}

TEST_F(ShardPlanTest, ReasonsAreOfThisPlan) {
    const auto read =
        reasons(R"({"format": 1, "plan": "s_20260101-000000-beef", "reasons": {"2": "TIMEOUT"}})");
    ASSERT_TRUE(read) << to_line(read.error());
    EXPECT_EQ(*read, (ShardReasons{{2, "TIMEOUT"}}));
    for (const char* wrong :
         {R"({"format": 1, "plan": "other", "reasons": {}})",
          R"({"format": 1, "plan": "s_20260101-000000-beef", "reasons": {"3": "x"}})",
          R"({"format": 1, "plan": "s_20260101-000000-beef", "reasons": {"0": "x"}})",
          R"({"format": 1, "plan": "s_20260101-000000-beef", "reasons": {"1x": "x"}})",
          R"({"format": 1, "plan": "s_20260101-000000-beef", "reasons": {"1": 5}})",
          R"({"format": 1, "plan": "s_20260101-000000-beef"})", R"({"format": 2})", "x"}) {
        const auto refused = reasons(wrong);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_EQ(refused.error().kind, ErrorKind::usage) << wrong;
    }
}

}  // namespace
}  // namespace compat::archive
