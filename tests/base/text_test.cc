#include "runner/base/text.h"

#include <gtest/gtest.h>

namespace compat {
namespace {

TEST(Text, NothingFromASuiteReachesTheTerminalRaw) {
    EXPECT_EQ(printable("a\033[31mb\r\nc\td\x7f"), "a\\x1b[31mb\\x0d c d\\x7f");
    EXPECT_EQ(printable("übertragen"), "übertragen");
}

TEST(Text, ANounFollowsItsNumber) {
    EXPECT_EQ(counted(0, "module"), "0 modules");
    EXPECT_EQ(counted(1, "module"), "1 module");
    EXPECT_EQ(counted(2, "module"), "2 modules");
}

}  // namespace
}  // namespace compat
