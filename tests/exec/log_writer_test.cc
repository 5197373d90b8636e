#include "runner/exec/log_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::exec {
namespace {

std::string marker(std::uint64_t n) {
    return fmt::format("\n[runner: {} bytes of this log were dropped here (limits.log_bytes)]\n",
                       n);
}

struct Row {
    std::uint64_t limit;
    std::vector<std::string> pieces;
    std::string expected;
    std::uint64_t dropped;
};

TEST(LogWriter, KeepsHeadAndTailAndReportsDroppedBytes) {
    const std::vector<Row> table{
        {0, {"abc", "", "def"}, "abcdef", 0},
        {10, {"0123456789"}, "0123456789", 0},
        {10, {"0123456789", "a"}, "01234" + marker(1) + "6789a", 1},
        {10, {"0123456789abcdefghij"}, "01234" + marker(10) + "fghij", 10},
        {10,
         {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c"},
         "01234" + marker(3) + "89abc",
         3},
        {1, {"xyz"}, marker(2) + "z", 2},
        {10, {}, "", 0},
    };
    for (const auto& row : table) {
        const test::TempTree tree;
        const std::filesystem::path& dir = tree.root();
        LogWriter writer(dir / "log", row.limit);
        for (const auto& piece : row.pieces) writer.append(piece);
        EXPECT_EQ(writer.finish(), row.dropped);
        EXPECT_EQ(read_file(dir / "log").value(), row.expected);
        EXPECT_FALSE(writer.error());
        EXPECT_FALSE(std::filesystem::exists(dir / "log.tmp"));
    }
}

TEST(LogWriter, BoundsTheFileDuringAFlood) {
    const test::TempTree tree;
    const std::filesystem::path& dir = tree.root();
    LogWriter writer(dir / "log", 1 << 20);
    const std::string piece(100'000, 'x');
    for (int i = 0; i < 500; ++i) writer.append(piece);
    EXPECT_LE(std::filesystem::file_size(dir / "log"), 1u << 20);
    EXPECT_EQ(writer.finish(), 50'000'000u - (1u << 20));
}

TEST(LogWriter, ReportsAFullDiskOnceAndStopsWriting) {
    LogWriter writer("/dev/full", 0);
    writer.append("abc");
    writer.append("def");
    writer.finish();
    ASSERT_TRUE(writer.error());
    EXPECT_EQ(writer.error()->kind, ErrorKind::io);
    EXPECT_THAT(writer.error()->message, testing::HasSubstr("No space left"));
}

TEST(LogWriter, ReportsAMissingFolder) {
    LogWriter writer("/nonexistent/log", 0);
    ASSERT_TRUE(writer.error());
    EXPECT_EQ(writer.error()->where, "/nonexistent/log");
}

}  // namespace
}  // namespace compat::exec
