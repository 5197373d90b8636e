// Files of an attempt, whatever a test has put in their place.
#include "runner/archive/attempt_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temp_tree.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;

class AttemptFilesTest : public ::testing::Test {
  protected:
    parsers::ModuleRecord read(std::uint64_t most = kMostEventBytes) const {
        return parsers::read_attempt(
            {lines_of(tree_.root() / "events", most), text_of(tree_.root() / "log", 8), ""},
            "unittest", "m.py", {ProcessEnd::Kind::exited, 0, {}});
    }
    std::string first_diagnostic(std::uint64_t most = kMostEventBytes) const {
        const auto record = read(most);
        return record.diagnostics.empty() ? "" : record.diagnostics.front().message;
    }

    test::TempTree tree_;
};

const std::string kSession =
    R"({"event":"session","pid":7,"seq":0,"format":1,"framework":"unittest"})"
    "\n";

TEST_F(AttemptFilesTest, ThatTheChildNeverWroteAreEmpty) {
    EXPECT_EQ(first_diagnostic(), "");
    EXPECT_EQ(text_of(tree_.root() / "log").text(), "");
}

TEST_F(AttemptFilesTest, ThatAreDevicesAreNotRead) {
    fs::create_symlink("/dev/zero", tree_.root() / "events");
    fs::create_symlink("/dev/zero", tree_.root() / "log");
    EXPECT_NE(first_diagnostic().find("not a regular file"), std::string::npos);
    EXPECT_EQ(text_of(tree_.root() / "log").text(), "");
}

TEST_F(AttemptFilesTest, WithALineTooLongKeepTheOthers) {
    tree_.write("events", kSession + "{\"event\":\"" + std::string(2 << 20, 'x') + "\"}\n" +
                              R"({"event":"collected","pid":7,"seq":1,"id":"m.py::a"})"
                              "\n");
    EXPECT_EQ(first_diagnostic(), "the line is too long to be one of ours; skipped");
    EXPECT_EQ(read().cases.at(0).id, "m.py::a");
}

TEST_F(AttemptFilesTest, AreReadUpToALimit) {
    tree_.write("events", kSession);
    fs::resize_file(tree_.root() / "events", 1ull << 40);  // sparse
    EXPECT_EQ(first_diagnostic(8 << 20), "the file has more than 8 MiB; the rest was not read");
    tree_.write("log", "0123456789");
    EXPECT_EQ(text_of(tree_.root() / "log", 4).text(), "6789");
}

TEST_F(AttemptFilesTest, OfAStoredAttemptMustBeThere) {
    tree_.write("log", "");
    EXPECT_TRUE(has_files(tree_.root(), {"log", ""}));
    EXPECT_FALSE(has_files(tree_.root(), {"log", "events"}));
}

}  // namespace
}  // namespace compat::archive
