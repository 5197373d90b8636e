#include "runner/exec/log_writer.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <vector>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat::exec {
namespace {

std::string marker(std::uint64_t n) {
    return fmt::format("\n[runner: {} bytes of this log were dropped here (limits.log_bytes)]\n",
                       n);
}

// Stands for a full disk, with another error. Gives the limit before it.
rlimit limit_files(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{bytes, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    return before;
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
    const test::TempTree tree;
    const rlimit before = limit_files(2);
    LogWriter writer(tree.root() / "log", 0);
    writer.append("abc");
    writer.append("def");
    writer.finish();
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_TRUE(writer.error());
    EXPECT_EQ(writer.error()->kind, ErrorKind::io);
    EXPECT_EQ(writer.error()->message, "cannot write the log: File too large");
}

TEST(LogWriter, ReportsAMissingFolder) {
    LogWriter writer(std::filesystem::path("/nonexistent/log"), 0);
    ASSERT_TRUE(writer.error());
    EXPECT_EQ(writer.error()->where, "/nonexistent/log");
}

TEST(LogWriter, WritesToNothingThatStandsAtItsName) {
    const test::TempTree tree;
    const auto users = tree.write("users", "the user's");
    std::filesystem::create_symlink(users, tree.root() / "1.log");
    std::filesystem::create_symlink(users, tree.root() / "2.log.tmp");
    LogWriter linked(tree.root() / "1.log", 0);
    ASSERT_TRUE(linked.error());
    EXPECT_EQ(linked.error()->kind, ErrorKind::usage) << "other logs can be written";
    LogWriter dropping(tree.root() / "2.log", 10);
    dropping.append("0123456789abcdefghij");
    dropping.finish();
    ASSERT_TRUE(dropping.error());
    EXPECT_THAT(dropping.error()->message, testing::HasSubstr("it is a link"));
    EXPECT_EQ(read_file(users), "the user's");
}

}  // namespace
}  // namespace compat::exec
