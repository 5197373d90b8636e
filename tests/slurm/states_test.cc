// The table of Slurm's job states.
#include "runner/slurm/states.h"

#include <gtest/gtest.h>

#include <set>

namespace compat::slurm {
namespace {

TEST(States, EachHasOneRowAndEveryBadEndItsAdvice) {
    std::set<std::string_view> names;
    for (const StateRow& row : kStates) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name;
        EXPECT_EQ(row.meaning.empty(), row.advice.empty()) << row.name;
        EXPECT_EQ(row.meaning.empty(), row.phase != Phase::ended || row.name == "COMPLETED")
            << row.name;
        EXPECT_EQ(state_row(row.name).name, row.name);
    }
}

TEST(States, UnderstandsWordsAfterTheNameAndOtherNames) {
    EXPECT_EQ(state_row("CANCELLED by 1000").name, "CANCELLED");
    EXPECT_EQ(state_row("CANCELLED+").name, "CANCELLED");
    EXPECT_EQ(state_row("BOOT_FAIL").name, "NODE_FAIL");
    EXPECT_EQ(state_row("REVOKED").name, "CANCELLED");
}

// A job that is taken for ended is merged while it runs.
TEST(States, TakesNoUnknownNameForAnEnd) {
    EXPECT_NE(state_row("EXPEDITING").phase, Phase::ended);
    EXPECT_NE(state_row("").phase, Phase::ended);
}

}  // namespace
}  // namespace compat::slurm
