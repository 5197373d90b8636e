#include "runner/run/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace compat::run {
namespace {

using ::testing::ElementsAre;

TEST(Fingerprint, SecretsAreMasked) {
    EXPECT_THAT(
        masked(plan::Variables{
            {"HF_TOKEN", "x"}, {"api_key", "y"}, {"DB_PASSWORD", ""}, {"PLAIN", "z"}}),
        ElementsAre(::testing::Pair("HF_TOKEN", "<set>"), ::testing::Pair("api_key", "<set>"),
                    ::testing::Pair("DB_PASSWORD", "<set>"), ::testing::Pair("PLAIN", "z")));
}

TEST(Fingerprint, SecretsOfACommandLineAreMasked) {
    EXPECT_THAT(masked(std::vector<std::string>{"runner", "s", "--env", "MY_TOKEN=a=b",
                                                "--env=KEY=c", "--env", "PLAIN=d", "x=TOKEN"}),
                ElementsAre("runner", "s", "--env", "MY_TOKEN=<set>", "--env=KEY=<set>", "--env",
                            "PLAIN=d", "x=TOKEN"));
}

TEST(Fingerprint, PasswordsInUrlsAreMasked) {
    EXPECT_THAT(masked(plan::Variables{{"DATABASE", "postgres://me:pass@db/x"}, {"PWD", "/home"}}),
                ElementsAre(::testing::Pair("DATABASE", "postgres://me:<set>@db/x"),
                            ::testing::Pair("PWD", "/home")));
    EXPECT_THAT(
        masked(std::vector<std::string>{"runner", "s", "--env", "A=redis://:p@h:1/0",
                                        "--proxy=http://u:p@h"}),
        ElementsAre("runner", "s", "--env", "A=redis://:<set>@h:1/0", "--proxy=http://u:<set>@h"));
}

}  // namespace
}  // namespace compat::run
