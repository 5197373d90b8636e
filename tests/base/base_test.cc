// Exit codes, names, clock, files, errors and versions of runner/base.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runner/base/clock.h"
#include "runner/base/exit_code.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/version.h"
#include "tests/support/temp_tree.h"

namespace compat {
namespace {

TEST(ExitCodes, HaveThePriorityOfTheirTable) {
    std::vector<int> order;
    for (const auto& row : kExitCodes) order.push_back(static_cast<int>(row.code));
    EXPECT_THAT(order, ::testing::ElementsAre(130, 4, 3, 2, 5, 1, 0));
    for (size_t i = 0; i < kExitCodes.size(); ++i)
        for (size_t j = i; j < kExitCodes.size(); ++j) {
            const std::array<ExitCode, 2> both{kExitCodes[j].code, kExitCodes[i].code};
            EXPECT_EQ(worst(both), kExitCodes[i].code);
        }
    EXPECT_EQ(worst({}), ExitCode::ok);
}

TEST(Names, NeverLeaveTheirFolder) {
    const std::vector<std::pair<std::string, std::string>> table{
        {"tests/test_ops.py", "tests/test_ops.py"},
        {"../../etc/passwd", "%2E%2E/%2E%2E/etc/passwd"},
        {"/etc/passwd", "%/etc/passwd"},
        {"a//b/.", "a/%/b/%2E"},
        {"a b\n%", "a%20b%0A%25"},
        {"", "%"},
    };
    for (const auto& [name, path] : table) EXPECT_EQ(escaped_path(name).string(), path);
    std::set<std::string> seen;
    for (const std::string name : {"a/b", "a%2Fb", "a%252Fb", "a", "A", "a.", "..", ".", "", "/"})
        EXPECT_TRUE(seen.insert(escaped_path(name).string()).second) << name;
}

TEST(Names, StayDistinctAndShortWhenTruncated) {
    const std::string one(5000, 'x'), other = std::string(4999, 'x') + "y";
    EXPECT_LE(escaped_component(one).size(), 200u);
    EXPECT_NE(escaped_component(one), escaped_component(other));
}

TEST(Names, FormARunId) {
    EXPECT_EQ(make_run_id("my/series", WallTime(std::chrono::seconds(1'790'000'000)), 0x1abcd),
              "my%2Fseries_20260921-141320-abcd");
}

TEST(Names, QuotesAWordForAShell) {
    EXPECT_EQ(shell_quoted("plain/path-1.0"), "plain/path-1.0");
    EXPECT_EQ(shell_quoted(""), "''");
    EXPECT_EQ(shell_quoted("a b"), "'a b'");
    EXPECT_EQ(shell_quoted("it's $HOME"), "'it'\\''s $HOME'");
}

TEST(Names, ValidatesUtf8) {
    for (const char* good :
         {"", "abc", "\u00fc\u20ac", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"})
        EXPECT_TRUE(is_utf8(good)) << good;
    // Truncated, a lone byte, overlong, a surrogate, above U+10FFFF.
    for (const char* bad : {"\xff", "\xc3", "\x80", "\xc0\xaf", "\xe0\x80\x80", "\xed\xa0\x80",
                            "\xf4\x90\x80\x80", "\xf0\x80\x80\x80", "a\xe2\x82"})
        EXPECT_FALSE(is_utf8(bad));
}

TEST(Names, CutsTextBetweenCharacters) {
    const std::string text = "aé€😀";  // 1, 2, 3 and 4 bytes
    std::vector<size_t> first, last;
    for (size_t bytes = 0; bytes <= 11; ++bytes) {
        EXPECT_TRUE(text.starts_with(first_bytes(text, bytes)));
        EXPECT_TRUE(text.ends_with(last_bytes(text, bytes)));
        first.push_back(first_bytes(text, bytes).size());
        last.push_back(last_bytes(text, bytes).size());
    }
    EXPECT_THAT(first, ::testing::ElementsAre(0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 10));
    EXPECT_THAT(last, ::testing::ElementsAre(0, 0, 0, 0, 4, 4, 4, 7, 7, 9, 10, 10));
    EXPECT_EQ(first_bytes("", 3), "");
    EXPECT_EQ(last_bytes("", 3), "");
}

TEST(Clock, TimesAreReadWithFractionAndOffset) {
    const auto at = [](std::int64_t ms) { return WallTime(std::chrono::milliseconds(ms)); };
    EXPECT_EQ(parse_iso8601("1970-01-01T00:00:01Z"), at(1000));
    EXPECT_EQ(parse_iso8601("1970-01-01T00:00:01"), at(1000));
    EXPECT_EQ(parse_iso8601("1970-01-01 00:00:01.25"), at(1250));
    EXPECT_EQ(parse_iso8601("1970-01-01T01:00:00.5+01:00"), at(500));
    EXPECT_EQ(parse_iso8601("1969-12-31T22:30:00.123456-0130"), at(123));
    for (const char* text :
         {"", "yesterday", "2026-02-30T00:00:00", "2026-01-01T24:00:00", "2026-01-01"})
        EXPECT_EQ(parse_iso8601(text), std::nullopt) << text;
}

TEST(Clock, FormatsDurationsAndDates) {
    using S = std::chrono::duration<double>;
    EXPECT_EQ(format_duration(S(0.04)), "0.0s");
    EXPECT_EQ(format_duration(S(59.96)), "60.0s");
    EXPECT_EQ(format_duration(S(245)), "4m 05s");
    EXPECT_EQ(format_duration(S(7380)), "2h 03m");
    EXPECT_EQ(iso8601(WallTime(std::chrono::seconds(0))), "1970-01-01T00:00:00Z");
    EXPECT_EQ(iso8601(WallTime(std::chrono::seconds(-1))), "1969-12-31T23:59:59Z");
    // Further than nanoseconds count, and than a year has digits: of a damaged database.
    EXPECT_EQ(iso8601(WallTime(std::chrono::seconds(253402300799))), "9999-12-31T23:59:59Z");
    EXPECT_EQ(iso8601(WallTime::max()), "9999-12-31T23:59:59Z");
    EXPECT_EQ(iso8601(WallTime::min()), "0000-01-01T00:00:00Z");
    EXPECT_EQ(file_timestamp(WallTime::max()), "99991231-235959");
}

TEST(Files, AppendsAfterAnUnfinishedLine) {
    const test::TempTree tree;
    const auto path = tree.root() / "lines";
    ASSERT_TRUE(append_line(path, "one"));
    ASSERT_TRUE(append_line(path, "two", true));
    EXPECT_EQ(read_file(path).value_or(""), "one\ntwo\n");
    ASSERT_TRUE(write_file(path, "one\ntw"));
    ASSERT_TRUE(append_line(path, "three"));
    EXPECT_EQ(read_file(path).value_or(""), "one\ntw\nthree\n");
    EXPECT_FALSE(append_line(tree.root() / "missing/file", "x"));
}

TEST(Files, WritesAtomically) {
    const test::TempTree tree;
    const auto path = tree.root() / "file";
    ASSERT_TRUE(write_file(path, "one"));
    ASSERT_TRUE(write_file(path, "two"));
    EXPECT_EQ(read_file(path).value(), "two");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(tree.root()), {}), 1);
    const auto nowhere = write_file(tree.root() / "missing/file", "x");
    ASSERT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().kind, ErrorKind::io);
    EXPECT_FALSE(read_file(tree.root() / "missing"));
}

TEST(Errors, FormatAsOneLine) {
    EXPECT_EQ(to_line({ErrorKind::io, "cannot\nwrite", "try", "/x"}), "/x: cannot write: try");
    EXPECT_EQ(to_line({ErrorKind::io, "m", "", ""}), "m");
}

TEST(Versions, CompareByNumbers) {
    EXPECT_TRUE(is_older("2.9.1", "2.13.0+cpu"));
    EXPECT_TRUE(is_older("2.13", "2.13.1"));
    EXPECT_TRUE(is_older("", "2.13.0"));
    EXPECT_FALSE(is_older("2.13.0", "2.13.0+cu130"));
    EXPECT_FALSE(is_older("2.13.0", "2.9.1"));
    EXPECT_FALSE(is_older("", ""));
    std::string before = "2.15.1";
    for (const char* next : {"2.16.0.dev20261101+cpu", "2.16.0.dev20261129", "2.16.0a0+git1f00d",
                             "2.16.0rc2", "2.16.0rc10", "2.16.0+cpu", "2.16.0.post1", "2.16.1"}) {
        EXPECT_TRUE(is_older(before, next)) << next;
        EXPECT_FALSE(is_older(next, before)) << next;
        before = next;
    }
    EXPECT_FALSE(is_older("2.16", "2.16.0"));
    // PEP 440: zeros at the end mean nothing, and only a wanted build asks for one.
    for (const auto& [wanted, version] : {std::pair("2.15.0", "2.15.0+cpu"),
                                          {"2.15", "2.15.0"},
                                          {"2.15.0.0", "2.15"},
                                          {"2.15.0+cpu", "2.15.0+cpu"},
                                          {"2.15.0rc1", "2.15.0rc1"}})
        EXPECT_TRUE(accepts_version(wanted, version)) << wanted;
    for (const auto& [wanted, version] : {std::pair("2.15.0", "2.15.1"),
                                          {"2.15.0", "2.15.0rc1"},
                                          {"2.15.0+cpu", "2.15.0"},
                                          {"2.15.0+cpu", "2.15.0+cu132"},
                                          {"", "2.15.0"}})
        EXPECT_FALSE(accepts_version(wanted, version)) << wanted;
}

}  // namespace
}  // namespace compat
