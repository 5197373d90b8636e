// The files of a run whose tests left more than a run makes.
#include "runner/archive/run_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runner/base/isolation/file_tree.h"
#include "tests/support/temp_tree.h"

namespace compat::archive {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class RunFiles : public testing::Test {
  protected:
    [[nodiscard]] fs::path folder() const { return tree_.root() / "run"; }
    // Folders one in the other; the last has a file.
    void dig(int levels) const {
        int at = ::open(folder().c_str(), O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < levels; ++i) {
            ASSERT_EQ(::mkdirat(at, "d", 0700), 0);
            const int below = ::openat(at, "d", O_RDONLY | O_DIRECTORY);
            ::close(at);
            at = below;
        }
        ::close(::openat(at, "file", O_WRONLY | O_CREAT, 0600));
        ::close(at);
    }

    test::TempTree tree_;
};

TEST_F(RunFiles, FoldersThatAreTooDeepAreNamedAndNotEntered) {
    tree_.write("run/modules/1.log");
    dig(5000);
    std::vector<fs::path> files;
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit few{100, limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    const auto others = each_file(folder(), [&](const fs::path& name) -> Expected<void> {
        files.push_back(name);
        return {};
    });
    ::getrusage(RUSAGE_SELF, &after);
    ::setrlimit(RLIMIT_NOFILE, &limit);
    ASSERT_TRUE(others) << to_line(others.error());
    EXPECT_THAT(files, ElementsAre("modules/1.log"));
    ASSERT_EQ(others->size(), 1U);
    EXPECT_THAT(others->front(), HasSubstr("/… (a folder with too long a path)"));
    EXPECT_LT(others->front().size(), 300U);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 16 * 1024) << "KiB";
    remove_tree(folder());
}

TEST_F(RunFiles, OfManyOthersSomeAreNamed) {
    fs::create_directories(folder());
    for (int i = 0; i < 1200; ++i) fs::create_symlink("x", folder() / std::to_string(i));
    const auto others =
        each_file(folder(), [](const fs::path&) -> Expected<void> { return {}; });
    ASSERT_TRUE(others);
    EXPECT_EQ(others->size(), 1001U);
    EXPECT_EQ(others->back(), "200 more");
    EXPECT_FALSE(each_file(folder() / "none", [](const fs::path&) -> Expected<void> { return {}; }));
}

}  // namespace
}  // namespace compat::archive
