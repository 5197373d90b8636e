#include "runner/run/variables.h"

#include <gtest/gtest.h>

namespace compat::run {
namespace {

TEST(Variables, SplitsNameAndValue) {
    EXPECT_EQ(parse_variables({"A=b=c", "B="}).value(), (plan::Variables{{"A", "b=c"}, {"B", ""}}));
    EXPECT_FALSE(parse_variables({"A"}));
    EXPECT_FALSE(parse_variables({"=a"}));
}

TEST(Variables, RefusesANulByte) {
    const auto refused = parse_variables({std::string("NAME=a\0b", 8)});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::usage);
    EXPECT_EQ(
        to_line(refused.error()),
        "--env: the variable NAME contains a NUL byte: no environment can hold one: remove it");
}

}  // namespace
}  // namespace compat::run
