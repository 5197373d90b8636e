// Files below a folder in which somebody planted links and pipes.
#include "runner/base/files/file_below.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "runner/base/files.h"
#include "tests/support/temp_tree.h"

namespace compat {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class FileBelowTest : public testing::Test {
  protected:
    FileBelowTest() {
        tree.write("users/file", "the user's");
        fs::create_directories(run);
    }
    // The error's text, or the file's.
    [[nodiscard]] std::string read(const fs::path& name) const {
        const auto text = read_file(FileBelow(run, name));
        return text ? *text : to_line(text.error());
    }
    [[nodiscard]] std::string users_file() const { return read_file(users / "file").value(); }

    test::TempTree tree;
    const fs::path users = tree.root() / "users", run = tree.root() / "run";
};

TEST_F(FileBelowTest, ReadsRegularFilesBelowTheFolder) {
    tree.write("run/modules/m.py/1.log", "log");
    EXPECT_EQ(read("modules/m.py/1.log"), "log");
    EXPECT_THAT(read("modules/none"), HasSubstr("No such file"));
    for (const char* name : {"", "..", "../users/file", "modules/../../users/file", "/etc/passwd"})
        EXPECT_THAT(read(name), HasSubstr("is no name below the folder")) << name;
    fs::create_symlink(run, tree.root() / "latest");
    EXPECT_EQ(read_file(FileBelow(tree.root() / "latest", "modules/m.py/1.log")), "log")
        << "the user names the folder";
}

TEST_F(FileBelowTest, RefusesAndNamesWhatNoRunMakes) {
    fs::create_symlink(users / "file", run / "link");
    fs::create_symlink(users, run / "folder");
    fs::create_symlink("nowhere", run / "dangling");
    fs::create_symlink("/dev/zero", run / "zero");
    ASSERT_EQ(::mkfifo((run / "pipe").c_str(), 0600), 0);
    fs::create_directory(run / "directory");
    struct Row {
        const char* name;
        const char* words;
    };
    for (const Row& row :
         {Row{"link", "/run/link: cannot read: it is a link, not a regular file: remove it"},
          Row{"folder/file", "/run/folder: cannot read: it is a link, not a folder"},
          Row{"dangling", "it is a link"}, Row{"zero", "it is a link"},
          Row{"pipe", "it is a named pipe, not a regular file"},
          Row{"directory", "it is a folder, not a regular file"}}) {
        EXPECT_THAT(read(row.name), HasSubstr(row.words));
        EXPECT_EQ(open_file({run, row.name}).error().kind, ErrorKind::usage) << row.name;
        EXPECT_FALSE(open_to_append({run, row.name})) << row.name;
        EXPECT_FALSE(write_new_file({run, row.name}, "x")) << row.name;
    }
    EXPECT_EQ(users_file(), "the user's");
    EXPECT_FALSE(fs::exists(run / "nowhere"));
}

TEST_F(FileBelowTest, MakesAFileWithItsFolders) {
    ASSERT_TRUE(write_new_file({run, "modules/a/1.log"}, "one"));
    EXPECT_EQ(read("modules/a/1.log"), "one");
    ASSERT_TRUE(write_new_file({run, "modules/a/1.log"}, "2"));
    EXPECT_EQ(read("modules/a/1.log"), "2");
    const auto gone = write_new_file({tree.root() / "none", "1.log"}, "x");
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().kind, ErrorKind::io);
}

TEST_F(FileBelowTest, ANewFileLeavesTheOtherNamesOfTheOldOne) {
    fs::create_hard_link(users / "file", run / "1.log");
    ASSERT_TRUE(write_new_file({run, "1.log"}, "new"));
    EXPECT_EQ(read("1.log"), "new");
    EXPECT_EQ(users_file(), "the user's");
}

TEST_F(FileBelowTest, EmptiesAFolderWithoutFollowingLinks) {
    const FileBelow written(run, "modules/a/1.written");
    ASSERT_TRUE(make_empty_folder(written));
    fs::create_symlink(users, written.path() / "link");
    tree.write("run/modules/a/1.written/deep/file");
    ASSERT_TRUE(make_empty_folder(written));
    EXPECT_TRUE(fs::is_empty(written.path()));
    EXPECT_EQ(users_file(), "the user's");
    fs::create_symlink(users, run / "modules/a/2.written");
    const auto refused = make_empty_folder({run, "modules/a/2.written"});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("it is a link, not a folder"));
}

TEST_F(FileBelowTest, AppendsAndCopiesWithoutFollowingLinks) {
    fs::create_symlink(users / "file", run / "record.jsonl");
    EXPECT_FALSE(append_line(run / "record.jsonl", "x"));
    EXPECT_TRUE(append_line(FileBelow::followed(run / "record.jsonl"), "x"));
    EXPECT_FALSE(copy_file({run, "record.jsonl"}, {run, "copy"}));
    EXPECT_TRUE(copy_file(users / "file", {run, "modules/copy"}));
    EXPECT_EQ(read("modules/copy"), "the user's\nx\n");
}

}  // namespace
}  // namespace compat
