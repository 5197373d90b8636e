// Tests the fate of an array job's elements, by the rows that Slurm prints one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/cluster/watch.h"

namespace compat::cluster {
namespace {

using Elements = std::vector<slurm::Element>;

TEST(SlurmWatch, EndsWhenEveryElementHasEnded) {
    SlurmWatch watch("7", 3);
    EXPECT_FALSE(watch.over());
    EXPECT_TRUE(watch
                    .take({{1, "RUNNING", "n1", "None"},
                           {2, "PENDING", "", "Resources"},
                           {3, "PENDING", "", "Resources"}})
                    .empty());
    EXPECT_EQ(watch.words(), "0 of 3 shards ended, 1 running, 2 waiting (Resources)");
    EXPECT_FALSE(watch.over());
    EXPECT_TRUE(watch
                    .take({{1, "COMPLETED", "n1", "None"},
                           {2, "COMPLETING", "n1", "None"},
                           {3, "COMPLETED", "n2", "None"}})
                    .empty());
    EXPECT_FALSE(watch.over());
    watch.take({{1, "COMPLETED", "n1", "None"},
                {2, "COMPLETED", "n1", "None"},
                {3, "COMPLETED", "n2", "None"}});
    EXPECT_TRUE(watch.over());
    for (std::size_t i = 1; i <= 3; ++i) EXPECT_EQ(watch.reason(i), std::nullopt);
}

TEST(SlurmWatch, TellsEachBadEndOnceAndKeepsItsReason) {
    SlurmWatch watch("7", 2);
    watch.take({{1, "RUNNING", "n1", "None"}, {2, "RUNNING", "n2", "None"}});
    const Elements rows{{1, "TIMEOUT", "n1", "TimeLimit"}, {2, "RUNNING", "n2", "None"}};
    const auto changes = watch.take(rows);
    ASSERT_EQ(changes.size(), 1);
    EXPECT_EQ(changes[0].index, 1);
    EXPECT_FALSE(changes[0].requeued);
    EXPECT_TRUE(watch.take(rows).empty());
    // Forgotten after MinJobAge.
    watch.take({{2, "COMPLETED", "n2", "None"}});
    EXPECT_EQ(watch.reason(1), "TIMEOUT on n1 (Slurm job 7_1)");
    EXPECT_TRUE(watch.over());
    EXPECT_FALSE(watch.lacks_ends());
}

TEST(SlurmWatch, TellsARequeue) {
    SlurmWatch watch("7", 1);
    watch.take({{1, "RUNNING", "n3", "None"}});
    const auto changes = watch.take({{1, "PENDING", "", "BeginTime"}});
    ASSERT_EQ(changes.size(), 1);
    EXPECT_TRUE(changes[0].requeued);
    EXPECT_FALSE(watch.over());
    watch.take({{1, "RUNNING", "n4", "None"}});
    watch.take({{1, "COMPLETED", "n4", "None"}});
    EXPECT_TRUE(watch.over());
    EXPECT_EQ(watch.reason(1), std::nullopt);
}

TEST(SlurmWatch, NamesWhatWasForgottenBeforeItsEnd) {
    SlurmWatch watch("7", 2);
    watch.take({{1, "RUNNING", "n1", "None"}, {2, "RUNNING", "n2", "None"}});
    watch.take({});
    EXPECT_TRUE(watch.over());
    EXPECT_TRUE(watch.lacks_ends());
    EXPECT_EQ(watch.reason(1), "Slurm forgot it before its end was seen on n1 (Slurm job 7_1)");
    // The last row of an element counts.
    watch.take_accounted(
        {{1, "NODE_FAIL", "n1", ""}, {2, "COMPLETED", "n2", ""}, {1, "OUT_OF_MEMORY", "n4", ""}});
    EXPECT_FALSE(watch.lacks_ends());
    EXPECT_EQ(watch.reason(1), "OUT_OF_MEMORY on n4 (Slurm job 7_1)");
    EXPECT_EQ(watch.reason(2), std::nullopt);
}

TEST(SlurmWatch, NamesAShardThatDidNotStartAgain) {
    SlurmWatch watch("7", 1);
    watch.take({{1, "COMPLETED", "n2", "None"}});
    watch.gave_up(1, "n3 n4");
    watch.take({{1, "COMPLETED", "n2", "None"}});
    EXPECT_EQ(watch.reason(1), "NODE_FAIL on n3 n4 (Slurm job 7_1)");
}

TEST(SlurmWatch, SaysThatNobodyWaitedForTheEnd) {
    SlurmWatch watch("7", 1);
    watch.take({{1, "RUNNING", "n2", "None"}});
    EXPECT_EQ(watch.reason(1), "RUNNING when the runner stopped waiting on n2 (Slurm job 7_1)");
}

TEST(SlurmWatch, IgnoresRowsOfNoElement) {
    SlurmWatch watch("7", 1);
    EXPECT_TRUE(watch.take({{0, "FAILED", "n1", ""}, {9, "FAILED", "n1", ""}}).empty());
}

}  // namespace
}  // namespace compat::cluster
