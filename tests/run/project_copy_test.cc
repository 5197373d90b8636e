#include "runner/run/scan/project_copy.h"

#include <gtest/gtest.h>

#include "runner/base/files.h"
#include "runner/run/temporary_folder.h"
namespace compat::run {
namespace {

namespace fs = std::filesystem;

class ProjectCopy : public testing::Test {
  protected:
    void SetUp() override {
        auto folder = TemporaryFolder::create("test");
        ASSERT_TRUE(folder);
        folder_.emplace(std::move(*folder));
        from_ = folder_->path() / "from";
        to_ = folder_->path() / "to";
    }
    void write(const std::string& name, const std::string& text = "x") {
        ASSERT_TRUE(make_directories((from_ / name).parent_path()));
        ASSERT_TRUE(write_file(from_ / name, text));
    }
    std::optional<TemporaryFolder> folder_;
    fs::path from_, to_;
};

TEST_F(ProjectCopy, CopiesFilesAndLeavesOutWhatTestsDoNotNeed) {
    for (const char* name : {"a.py", "pkg/data/b.bin", ".config", ".git/HEAD", "env/pyvenv.cfg",
                             "pkg/__pycache__/a.pyc", "results/runner.db"})
        write(name);
    fs::permissions(from_ / "a.py", fs::perms::owner_read | fs::perms::owner_exec);
    const auto copied = copy_project(from_, to_, {from_ / "results"});
    ASSERT_TRUE(copied) << copied.error().message;
    EXPECT_EQ(copied->files, 3u);
    EXPECT_EQ(copied->bytes, 3u);
    EXPECT_TRUE(fs::exists(to_ / "pkg/data/b.bin") && fs::exists(to_ / ".config"));
    for (const char* name : {".git", "env", "pkg/__pycache__", "results"})
        EXPECT_FALSE(fs::exists(to_ / name)) << name;
    EXPECT_EQ(fs::status(to_ / "a.py").permissions(),
              fs::perms::owner_read | fs::perms::owner_write | fs::perms::owner_exec);
    EXPECT_EQ(fs::status(from_ / "a.py").permissions(),
              fs::perms::owner_read | fs::perms::owner_exec);
}

TEST_F(ProjectCopy, NoLinkOfTheCopyLeadsBackIntoTheProject) {
    write("real/a.py", "old");
    ASSERT_TRUE(write_file(folder_->path() / "outside", "out"));
    fs::create_symlink("real/a.py", from_ / "relative.py");
    fs::create_symlink(from_ / "real", from_ / "absolute");
    fs::create_symlink("../outside", from_ / "outside");
    fs::create_symlink("nowhere", from_ / "dangling");
    ASSERT_TRUE(copy_project(from_, to_));
    EXPECT_EQ(fs::canonical(to_ / "relative.py"), to_ / "real/a.py");
    EXPECT_EQ(fs::canonical(to_ / "absolute/a.py"), to_ / "real/a.py");
    EXPECT_EQ(fs::canonical(to_ / "outside"), folder_->path() / "outside");
    EXPECT_EQ(fs::read_symlink(to_ / "dangling"), to_ / "nowhere");
    ASSERT_TRUE(write_file(to_ / "absolute/a.py", "new"));
    EXPECT_EQ(read_file(from_ / "real/a.py").value_or(""), "old");
}

TEST_F(ProjectCopy, ATemporaryFolderGoesWithItsValue) {
    const fs::path path = folder_->path();
    TemporaryFolder moved = std::move(*folder_);
    folder_.reset();
    EXPECT_TRUE(fs::exists(path));
    { const TemporaryFolder last = std::move(moved); }
    EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace compat::run
