#include "suites/positions.h"

#include <gtest/gtest.h>

namespace compat::suites {
namespace {

std::string at(Position position) {
    return std::to_string(position.line) + ":" + std::to_string(position.column);
}

TEST(Positions, FindsEveryKindOfValueAndItsKey) {
    const Positions found = find_positions(R"({
  // a comment, with "quotes" and {braces}
  "a": 12, "b":-1.5e3,
  /* another
     one */ "list": [true, null, "x", {"deep": false}, 7],
  "é": "ü", "last": 0
})");
    ASSERT_FALSE(found.problem.has_value()) << found.problem->message;
    EXPECT_EQ(at(found.of("")), "1:1");
    EXPECT_EQ(at(found.of_key("/a")), "3:3");
    EXPECT_EQ(at(found.of("/a")), "3:8");
    EXPECT_EQ(at(found.of_key("/b")), "3:12");
    EXPECT_EQ(at(found.of("/b")), "3:16");
    EXPECT_EQ(at(found.of_key("/list")), "5:13");
    EXPECT_EQ(at(found.of("/list")), "5:21");
    EXPECT_EQ(at(found.of("/list/0")), "5:22");
    EXPECT_EQ(at(found.of("/list/1")), "5:28");
    EXPECT_EQ(at(found.of("/list/2")), "5:34");
    EXPECT_EQ(at(found.of("/list/3")), "5:39");
    EXPECT_EQ(at(found.of("/list/3/deep")), "5:48");
    EXPECT_EQ(at(found.of("/list/4")), "5:56");
    EXPECT_EQ(at(found.of("/é")), "6:8");
    EXPECT_EQ(at(found.of_key("/last")), "6:13") << "columns count characters";
    EXPECT_EQ(at(found.of("/last")), "6:21");
}

TEST(Positions, FindsNumbersBeforeEveryDelimiter) {
    for (const char* text : {"[1,22]", "[1 ,22 ]", "[1\n,22]", "[1/**/,22//x\n]"}) {
        const Positions found = find_positions(text);
        ASSERT_FALSE(found.problem.has_value()) << text;
        const std::string all = text;
        const std::size_t line_start = all.rfind('\n', all.find("22")) + 1;
        EXPECT_EQ(found.of("/1").column, static_cast<int>(all.find("22") - line_start) + 1) << text;
    }
    const Positions alone = find_positions("  42");
    EXPECT_EQ(at(alone.of("")), "1:3");
}

TEST(Positions, EscapesSlashesInKeys) {
    const Positions found = find_positions(R"({"a/b": {"~": 1}})");
    EXPECT_EQ(at(found.of("/a~1b/~0")), "1:15");
}

TEST(Positions, FindsTheEnclosingValueOfAnUnknownPointer) {
    const Positions found = find_positions(R"({"a": {"b": 1}})");
    EXPECT_EQ(at(found.of("/a/zzz")), "1:7");
    EXPECT_EQ(at(found.of("/zzz/y")), "1:1");
}

TEST(Positions, DoesNotCountAByteOrderMark) {
    const Positions found = find_positions("\xEF\xBB\xBF{\"a\": 1}");
    ASSERT_FALSE(found.problem.has_value()) << found.problem->message;
    EXPECT_EQ(at(found.of("")), "1:1");
    EXPECT_EQ(at(found.of("/a")), "1:7");
}

TEST(Positions, RejectsDeepNesting) {
    const Positions found = find_positions(std::string(1'000'000, '['));
    ASSERT_TRUE(found.problem.has_value());
    EXPECT_EQ(found.problem->message, "nested deeper than 32 levels");
    EXPECT_EQ(at(found.problem->at), "1:33");
}

}  // namespace
}  // namespace compat::suites
