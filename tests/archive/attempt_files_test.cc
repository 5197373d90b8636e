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
    parsers::ModuleRecord read(std::uint64_t most = kMaxEventBytes) const {
        return parsers::read_attempt(
            {lines_of(tree_.root() / "events", most), text_of(tree_.root() / "log", 8), ""},
            "unittest", "m.py", {ProcessEnd::Kind::exited, 0, {}});
    }
    std::string first_diagnostic(std::uint64_t most = kMaxEventBytes) const {
        const auto record = read(most);
        return record.diagnostics.empty() ? "" : record.diagnostics.front().message;
    }

    test::TempTree tree_;
};

const std::string kSession =
    R"({"event":"session","pid":7,"seq":0,"format":1,"framework":"unittest"})"
    "\n";

TEST_F(AttemptFilesTest, MissingFilesAreEmpty) {
    EXPECT_EQ(first_diagnostic(), "");
    EXPECT_EQ(text_of(tree_.root() / "log").text(), "");
}

TEST_F(AttemptFilesTest, DeviceFilesAreNotRead) {
    fs::create_symlink("/dev/zero", tree_.root() / "events");
    fs::create_symlink("/dev/zero", tree_.root() / "log");
    EXPECT_NE(first_diagnostic().find("not a regular file"), std::string::npos);
    EXPECT_EQ(text_of(tree_.root() / "log").text(),
              "[runner: cannot read: it is a link, not a regular file]\n");
}

TEST_F(AttemptFilesTest, ATooLongLineIsSkipped) {
    tree_.write("events", kSession + "{\"event\":\"" + std::string(2 << 20, 'x') + "\"}\n" +
                              R"({"event":"collected","pid":7,"seq":1,"id":"m.py::a"})"
                              "\n");
    EXPECT_EQ(first_diagnostic(), "the line is too long to be one of ours; skipped");
    EXPECT_EQ(read().cases.at(0).id, "m.py::a");
}

TEST_F(AttemptFilesTest, FilesAreReadUpToALimit) {
    tree_.write("events", kSession);
    fs::resize_file(tree_.root() / "events", 1ull << 40);  // sparse
    EXPECT_EQ(first_diagnostic(8 << 20), "the file has more than 8 MiB; the rest was not read");
    tree_.write("log", "0123456789");
    EXPECT_EQ(text_of(tree_.root() / "log", 4).text(), "6789");
}

TEST_F(AttemptFilesTest, StoredFilesMustExist) {
    tree_.write("log", "");
    EXPECT_TRUE(has_files(tree_.root(), {"log", ""}));
    EXPECT_FALSE(has_files(tree_.root(), {"log", "events"}));
    fs::create_symlink("log", tree_.root() / "events");
    EXPECT_FALSE(has_files(tree_.root(), {"log", "events"})) << "no run makes a link";
}

class ReadAttemptAgainTest : public AttemptFilesTest {
  protected:
    ReadAttemptAgainTest() {
        stored_.record.path = "m.py";
        stored_.record.forked = true;
        stored_.log = "log";
        stored_.events = "events";
        stored_.ended = ProcessEnd::exited(0);
        tree_.write("log", "");
        tree_.write("events", kSession +
                                  R"({"event":"collected","pid":7,"seq":1,"id":"m.py::A::a"})"
                                  "\n");
    }
    [[nodiscard]] std::optional<parsers::ModuleRecord> read_again() const {
        return read_attempt_again(stored_, run_, tree_.root());
    }

    store::JobResult stored_;
    store::RunInfo run_ = [] {
        store::RunInfo run;
        run.framework = "unittest";
        return run;
    }();
};

TEST_F(ReadAttemptAgainTest, ReadsTheEvents) {
    const auto again = read_again();
    ASSERT_TRUE(again);
    EXPECT_EQ(again->cases.at(0).id, "m.py::A::a");
    EXPECT_TRUE(again->forked) << "only the run knows it";
    EXPECT_EQ(again->framework, "unittest");
}

TEST_F(ReadAttemptAgainTest, KeepsWhyATestDidNotRun) {
    parsers::CaseRecord& test = stored_.record.cases.emplace_back();
    test.id = "m.py::A::a";
    test.state = parsers::State::not_run;
    test.reason = "the restarts are used up";
    EXPECT_EQ(read_again()->cases.at(0).reason, "the restarts are used up");
}

TEST_F(ReadAttemptAgainTest, NeedsEveryFileThatItNames) {
    ASSERT_TRUE(read_again());
    fs::remove(tree_.root() / "events");
    EXPECT_FALSE(read_again());
}

TEST_F(ReadAttemptAgainTest, NeedsNoLogOfAProcessThatWasNotStarted) {
    fs::remove(tree_.root() / "log");
    stored_.events.clear();
    stored_.ended = ProcessEnd{ProcessEnd::Kind::spawn_failed, 0, "no such file"};
    ASSERT_TRUE(read_again());
    EXPECT_EQ(read_again()->outcome, parsers::ModuleOutcome::spawn_failed);
}

TEST_F(ReadAttemptAgainTest, NeedsTheEndOfItsProcess) {
    stored_.ended.reset();
    EXPECT_FALSE(read_again());
}

}  // namespace
}  // namespace compat::archive
