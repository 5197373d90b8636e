#include "runner/base/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace compat {
namespace {

TEST(Text, EscapesControlCharacters) {
    EXPECT_EQ(printable("a\033[31mb\r\nc\td\x7f"), "a\\x1b[31mb\\x0d c d\\x7f");
    EXPECT_EQ(printable("übertragen"), "übertragen");
    EXPECT_EQ(printable("a\xc2\x9b" "1m"), "a\\u009b1m");
}

TEST(Text, EscapesWhatReordersOrHidesText) {
    EXPECT_EQ(printable("test_\u202egood\u202c"), "test_\\u202egood\\u202c");
    EXPECT_EQ(printable("\u2066a\u2069\u200b\u061c\ufeff"), "\\u2066a\\u2069\\u200b\\u061c\\ufeff");
    EXPECT_EQ(printable("ελληνικά ✓ 日本"), "ελληνικά ✓ 日本");
    EXPECT_EQ(printable("a\U000e0041\u2060\u00ad\u180e\ufff9"),
              "a\\U000e0041\\u2060\\u00ad\\u180e\\ufff9");
    EXPECT_EQ(printable("🙂 naïve"), "🙂 naïve");
}

TEST(Text, EscapesBytesThatAreNoUtf8) {
    EXPECT_EQ(printable("\xc0\x9b"), "\\xc0\\x9b") << "an escape, longer than it must be";
    EXPECT_EQ(printable("\x9b" "31m\xff\xc2"), "\\x9b31m\\xff\\xc2");
    EXPECT_EQ(printable("\xe2\x80"), "\\xe2\\x80") << "a character that was cut off";
}

TEST(Text, UsesThePluralUnlessTheCountIsOne) {
    EXPECT_EQ(counted(0, "module"), "0 modules");
    EXPECT_EQ(counted(1, "module"), "1 module");
    EXPECT_EQ(counted(2, "module"), "2 modules");
}

TEST(Text, ShortensAPathInTheHomeFolder) {
    const char* before = std::getenv("HOME");
    ::setenv("HOME", "/home/me/", 1);
    EXPECT_EQ(tilde_path("/home/me/p/.venv/bin/python"), "~/p/.venv/bin/python");
    EXPECT_EQ(tilde_path("/home/mean/python"), "/home/mean/python");
    EXPECT_EQ(tilde_path("/home/me"), "/home/me");
    ::unsetenv("HOME");
    EXPECT_EQ(tilde_path("/a"), "/a");
    if (before) ::setenv("HOME", before, 1);
}

TEST(SizeWords, HaveTheLargestUnitThatFits) {
    EXPECT_EQ(format_size(0), "0 B");
    EXPECT_EQ(format_size(1023), "1023 B");
    EXPECT_EQ(format_size(1536), "1.5 KiB");
    EXPECT_EQ(format_size((1 << 20) - 1), "1.0 MiB");
    EXPECT_EQ(format_size(std::uint64_t{5} << 40), "5.0 TiB");
    EXPECT_EQ(format_size(std::uint64_t{5000} << 40), "5000.0 TiB");
}

}  // namespace
}  // namespace compat
