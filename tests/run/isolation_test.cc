// The private copy of a source, what is found to be written into it, and the variables that a
// sandbox lets in. Processes in a sandbox: tests/e2e/test_isolation.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "runner/base/files.h"
#include "runner/base/isolation/source_copy.h"
#include "runner/run/isolation/sandbox.h"
#include "runner/run/isolation/source_copy.h"
#include "tests/support/temp_tree.h"

namespace compat::run {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

class SourceCopyTest : public testing::Test {
  protected:
    SourceCopyTest() {
        tree_.write("src/tests/test_a.py", "a");
        tree_.write("src/data/kept.txt", "kept");
        tree_.write("src/data/gone.txt", "gone");
        tree_.write("src/results/runs/r/log", "a result");
        fs::create_symlink("test_a.py", source() / "tests" / "relative");
        fs::create_symlink(source() / "data", source() / "tests" / "absolute");
        fs::create_symlink("/etc/hostname", source() / "outside");
        fs::create_symlink("../../beside.txt", source() / "tests" / "beside");
        copy_.from = source();
        copy_.to = tree_.root() / "copy";
        copy_.links = {source() / "results"};
    }
    [[nodiscard]] fs::path source() const { return tree_.root() / "src"; }
    [[nodiscard]] std::vector<std::pair<std::string, std::string>> changes() const {
        std::vector<std::pair<std::string, std::string>> found;
        for (const auto& file : writes_to(copy_).files) found.emplace_back(file.path, file.change);
        return found;
    }

    test::TempTree tree_;
    SourceCopy copy_;
};

TEST_F(SourceCopyTest, HasFilesModesTimesAndLinks) {
    fs::permissions(source() / "data/kept.txt", fs::perms(0640));
    ASSERT_TRUE(copy_source(copy_));
    EXPECT_EQ(copy_.files, 3);
    EXPECT_EQ(copy_.bytes, 9);
    EXPECT_EQ(read_file(copy_.to / "tests/test_a.py").value(), "a");
    EXPECT_EQ(fs::status(copy_.to / "data/kept.txt").permissions(), fs::perms(0640));
    EXPECT_EQ(fs::last_write_time(copy_.to / "data/kept.txt"),
              fs::last_write_time(source() / "data/kept.txt"));
    EXPECT_EQ(fs::read_symlink(copy_.to / "tests/relative"), "test_a.py");
    EXPECT_EQ(fs::read_symlink(copy_.to / "tests/absolute"), copy_.to / "data")
        << "a write through it must not reach the source";
    EXPECT_EQ(fs::read_symlink(copy_.to / "outside"), "/etc/hostname");
    EXPECT_EQ(fs::read_symlink(copy_.to / "tests/beside"), tree_.root() / "beside.txt");
    EXPECT_EQ(fs::read_symlink(copy_.to / "results"), source() / "results");
    EXPECT_EQ(fs::hard_link_count(copy_.to / "tests/test_a.py"), 1U);
    EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(SourceCopyTest, KeepsLinksWhereItIsMountedInPlaceOfTheSource) {
    copy_.is_mounted = true;
    ASSERT_TRUE(copy_source(copy_));
    EXPECT_EQ(fs::read_symlink(copy_.to / "tests/absolute"), source() / "data");
    EXPECT_EQ(fs::read_symlink(copy_.to / "tests/beside"), "../../beside.txt");
    EXPECT_TRUE(fs::is_directory(fs::symlink_status(copy_.to / "results")));
}

TEST_F(SourceCopyTest, MayLieInItsSource) {
    copy_.to = source() / "results/runs/r/isolation/copy";
    ASSERT_TRUE(copy_source(copy_));
    EXPECT_EQ(copy_.files, 3);
    copy_.links.clear();
    copy_.to = source() / "more/copy";
    ASSERT_TRUE(copy_source(copy_));
    EXPECT_FALSE(fs::exists(copy_.to / "more/copy"));
}

TEST_F(SourceCopyTest, TellsWhatWasWritten) {
    ASSERT_TRUE(copy_source(copy_));
    std::ofstream(copy_.to / "data/new.txt") << "new";
    std::ofstream(copy_.to / "tests/test_a.py") << "b";  // as long as before
    fs::last_write_time(copy_.to / "tests/test_a.py",
                        fs::last_write_time(source() / "tests/test_a.py"));
    fs::remove(copy_.to / "data/gone.txt");
    fs::create_directories(copy_.to / "tests/__pycache__");
    std::ofstream(copy_.to / "tests/__pycache__/test_a.pyc") << "x";
    EXPECT_THAT(changes(),
                ElementsAre(Pair("data/gone.txt", "deleted"), Pair("data/new.txt", "new"),
                            Pair("tests/test_a.py", "changed")));
    EXPECT_EQ(read_file(source() / "tests/test_a.py").value(), "a");
}

TEST_F(SourceCopyTest, NamesTheFirstByPathAndCountsAll) {
    ASSERT_TRUE(copy_source(copy_));
    for (int i = 999; i >= 100; --i) tree_.write("copy/data/" + std::to_string(i), "x");
    const WrittenFiles found = writes_to(copy_);
    EXPECT_EQ(found.count, 900);
    EXPECT_EQ(found.bytes, 900);
    ASSERT_EQ(found.files.size(), kNamedWrites);
    EXPECT_EQ(found.files.front().path, "data/100");
    EXPECT_EQ(found.files.back().path, "data/299");
}

TEST_F(SourceCopyTest, IsNotBlamedForChangesOfTheSource) {
    ASSERT_TRUE(copy_source(copy_));
    tree_.write("src/data/by-the-user.txt", "x");
    tree_.write("src/data/kept.txt", "changed by the user");
    EXPECT_THAT(changes(), IsEmpty());
}

TEST_F(SourceCopyTest, IsAnErrorWhereItCannotBeWritten) {
    copy_.to = "/proc/copy";
    const auto copied = copy_source(copy_);
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().kind, ErrorKind::io);
    EXPECT_NE(copied.error().advice, "");
}

TEST(WrittenFiles, AddUpAndNameAFileOnce) {
    WrittenFiles first{"tmp"}, second{"tmp"};
    first.add({"a", "new", 1});
    second.add({"a", "new", 1});
    second.add({"b", "new", 2});
    std::vector<WrittenFiles> all{first};
    add_writes(all, {second, {"home", 1, 5, {{"c", "new", 5}}}});
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].count, 2);
    EXPECT_EQ(all[0].bytes, 3);
    EXPECT_EQ(all[1].place, "home");
    for (int i = 0; i < 1000; ++i) first.add({std::to_string(i), "new", 1});
    EXPECT_EQ(first.count, 1001);
    EXPECT_EQ(first.files.size(), kNamedWrites);
}

TEST(SourcePaths, StandInPlaceOfThoseOfTheCopy) {
    const std::string copy = "/r/runs/x/isolation/" + std::string(kSourceCopies) + "/home/me/p";
    EXPECT_EQ(with_source_paths("  File \"" + copy + "/a.py\", line 1"),
              "  File \"/home/me/p/a.py\", line 1");
    EXPECT_EQ(with_source_paths(copy + ":" + copy + "/b"), "/home/me/p:/home/me/p/b");
    EXPECT_EQ(with_source_paths("/home/me/p/a.py"), "/home/me/p/a.py");
    EXPECT_EQ(with_source_paths(""), "");
}

TEST(SandboxVariables, AreFew) {
    const plan::Variables inherited{{"PATH", "/bin"},
                                    {"LC_ALL", "C"},
                                    {"TOKEN", "secret"},
                                    {"HOME", "/home"},
                                    {"http_proxy", "proxy"},
                                    {"PATHS", "x"},
                                    {"DBUS_SESSION_BUS_ADDRESS", "unix:"}};
    EXPECT_THAT(variables_for_sandbox(inherited, false),
                ElementsAre(Pair("PATH", "/bin"), Pair("LC_ALL", "C")));
    EXPECT_THAT(
        variables_for_sandbox(inherited, true),
        ElementsAre(Pair("PATH", "/bin"), Pair("LC_ALL", "C"), Pair("http_proxy", "proxy")));
}

}  // namespace
}  // namespace compat::run
