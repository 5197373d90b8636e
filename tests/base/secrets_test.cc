#include "runner/base/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat {
namespace {

using ::testing::ElementsAre;

TEST(Secrets, AreTheValuesOfVariablesWithSecretNames) {
    EXPECT_THAT(secret_values({{"HF_TOKEN", "short1"},
                               {"PATH", "/usr/bin"},
                               {"DB_PASSWORD", "a longer one"},
                               {"USE_KEYS", "1"},
                               {"PWD", "/home/me"}}),
                ElementsAre("a longer one", "short1"));
}

TEST(Secrets, AreMaskedWhereverTheyStand) {
    EXPECT_EQ(mask_secrets("x=short1 short1short1", {"short1"}), "x=<set> <set><set>");
    EXPECT_EQ(mask_secrets("abcdef", {"abcdef", "abc"}), "<set>");
    EXPECT_EQ(mask_secrets("", {"abcdef"}), "");
}

TEST(Secrets, AreMaskedBehindTheirNames) {
    EXPECT_EQ(mask_secrets("export HF_TOKEN=abc B=c", {}), "export HF_TOKEN=<set> B=c");
    EXPECT_EQ(mask_secrets("A=B_TOKEN=x", {}), "A=B_TOKEN=<set>");
    EXPECT_EQ(mask_secrets("{'API_KEY': 'x y', 'B': 1}", {}), "{'API_KEY': '<set>', 'B': 1}");
    EXPECT_EQ(mask_secrets(R"(KEY="a 'b' c" x)", {}), R"(KEY="<set>" x)");
    EXPECT_EQ(mask_secrets("KEY='cut at the end", {}), "KEY='<set>");
    EXPECT_EQ(mask_secrets("assert SECRET == 'x'", {}), "assert SECRET == '<set>'");
    EXPECT_EQ(mask_secrets("git clone https://me:pw@host/x", {}),
              "git clone https://me:<set>@host/x");
}

TEST(Secrets, AreNotOrdinaryCode) {
    for (const char* text : {"sorted(rows, key=len)", "KeyError: 'x'", "token = next(it)", "TOKEN",
                             "KEY=", "key: value"})
        EXPECT_EQ(mask_secrets(text, {}), text);
}

}  // namespace
}  // namespace compat
