// Words about what the hub generated, or could not give.
#include "reports/generated.h"

#include <gtest/gtest.h>

#include "parsers/diagnosis/diagnose.h"

namespace compat::reports {
namespace {

TEST(GeneratedWords, NameWhatIsNeeded) {
    EXPECT_EQ(describe_need({{"models/org/m"}, 1}), "needs the real weights of org/m");
    EXPECT_EQ(describe_need({{"models/gpt2"}, 1}), "needs the real weights of gpt2");
    EXPECT_EQ(describe_need({{"datasets/org/d", "models/org/m"}, 2}),
              "needs the real weights of org/m and the real data of org/d");
    EXPECT_EQ(describe_need({{"https://example.org/cats.png"}, 1}),
              "needs the real data of https://example.org/cats.png");
    EXPECT_EQ(describe_need({{"models/a", "models/b"}, 2}), "needs the real weights of a and b");
    EXPECT_EQ(describe_need({{"models/a", "models/b", "models/c", "models/d"}, 4}),
              "needs the real weights of a, b and 2 more");
}

TEST(GeneratedWords, ListWhatWasUsed) {
    EXPECT_EQ(describe_names({}), "");
    EXPECT_EQ(describe_names({{"datasets/org/d", "models/org/m"}, 2}),
              "the dataset org/d, org/m");
    EXPECT_EQ(describe_names({{"models/org/m"}, 21}), "org/m and 20 more");
}

TEST(GeneratedWords, SayWhatTheHubLacked) {
    EXPECT_EQ(describe_lack({{"datasets/org/d", "models/org/none"}, 2}),
              "asked for the dataset org/d, org/none, which the hub could not give");
}

TEST(GeneratedWords, AreOfTheRulesThatBlameIt) {
    EXPECT_TRUE(blames_generated("generated-numbers"));
    EXPECT_TRUE(blames_generated("generated-values"));
    for (const char* other : {"hub", "assertion", "not-close", "", "unknown"})
        EXPECT_FALSE(blames_generated(other)) << other;
}

}  // namespace
}  // namespace compat::reports
