#include "runner/base/text.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace compat {
namespace {

TEST(Text, EscapesControlCharacters) {
    EXPECT_EQ(printable("a\033[31mb\r\nc\td\x7f"), "a\\x1b[31mb\\x0d c d\\x7f");
    EXPECT_EQ(printable("übertragen"), "übertragen");
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

}  // namespace
}  // namespace compat
