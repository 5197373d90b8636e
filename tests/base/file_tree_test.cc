// Folders as tests leave them: deep, wide, closed to their owner, with links out of them.
#include "runner/base/isolation/file_tree.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "tests/support/temp_tree.h"

namespace compat {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

class FileTree : public testing::Test {
  protected:
    [[nodiscard]] std::set<std::string> paths(const WalkLimits& limits = {}) const {
        std::set<std::string> found;
        walk_files(top(), limits, [&](const FoundFile& file) { found.insert(file.path); });
        return found;
    }
    [[nodiscard]] fs::path top() const { return tree_.root() / "top"; }
    // `levels` folders of the name, one in the other; every tenth has a file.
    void dig(int levels, const char* name) const {
        fs::create_directories(top());
        int at = ::open(top().c_str(), O_RDONLY | O_DIRECTORY);
        for (int i = 0; i < levels; ++i) {
            if (i % 10 == 0) ::close(::openat(at, "file", O_WRONLY | O_CREAT, 0600));
            ASSERT_EQ(::mkdirat(at, name, 0700), 0);
            const int below = ::openat(at, name, O_RDONLY | O_DIRECTORY);
            ::close(at);
            at = below;
        }
        ::close(at);
    }
    // The memory that `work` adds to this process, in KiB, with few descriptors; -1: it failed.
    static long memory_of(const std::function<bool()>& work) {
        int ends[2];
        EXPECT_EQ(::pipe(ends), 0);
        const pid_t child = ::fork();
        if (child == 0) {
            const rlimit few{100, 100};
            ::setrlimit(RLIMIT_NOFILE, &few);
            rusage before{}, after{};
            ::getrusage(RUSAGE_SELF, &before);
            const bool worked = work();
            ::getrusage(RUSAGE_SELF, &after);
            const long grown = worked ? after.ru_maxrss - before.ru_maxrss : -1;
            ::_exit(::write(ends[1], &grown, sizeof grown) == sizeof grown ? 0 : 1);
        }
        long grown = -1;
        EXPECT_EQ(::read(ends[0], &grown, sizeof grown), static_cast<ssize_t>(sizeof grown));
        ::close(ends[0]);
        ::close(ends[1]);
        ::waitpid(child, nullptr, 0);
        return grown;
    }

    test::TempTree tree_;
};

constexpr long kFewKiB = 8 * 1024;
constexpr int kDeep = 1500;  // their path is longer than any that opens

TEST_F(FileTree, FindsFilesAndLinksAndFollowsNone) {
    tree_.write("top/a");
    tree_.write("top/b/c/d");
    tree_.write("outside/not-seen");
    fs::create_directories(top() / "empty");
    fs::create_directory_symlink(tree_.root() / "outside", top() / "link");
    EXPECT_THAT(paths(), ElementsAre("a", "b/c/d", "link"));
    EXPECT_THAT(paths({.skipped = "c"}), ElementsAre("a", "link"));
    EXPECT_EQ(paths({.most = 1}).size() <= 1, true);
    walk_files(tree_.root() / "none", {}, [](const FoundFile&) { FAIL(); });
}

TEST_F(FileTree, CountsWhatIsDeepInLittleMemory) {
    dig(kDeep, "deep");
    EXPECT_LT(memory_of([&] {
                  int count = 0;
                  size_t longest = 0;
                  walk_files(top(), {}, [&](const FoundFile& file) {
                      ++count;
                      longest = std::max(longest, file.path.size());
                  });
                  return count == kDeep / 10 && longest == (kDeep - 10) * 5 + 4;
              }),
              kFewKiB);
    remove_tree(top());
}

TEST_F(FileTree, GoesOnInFoldersThatItHadToClose) {
    // Each with many neighbours, so that one is closed and found again in the middle.
    for (int i = 0; i < 20; ++i) {
        fs::path deep = fs::path("top") / std::to_string(i);
        for (int level = 0; level < 40; ++level) deep /= "d";
        tree_.write(deep / "file");
    }
    EXPECT_EQ(paths().size(), 20U);
}

TEST_F(FileTree, RemovesWhatIsDeepInLittleMemory) {
    dig(kDeep, "deep");
    EXPECT_LT(memory_of([&] {
                  return !remove_tree(top());
              }),
              kFewKiB);
    EXPECT_FALSE(fs::exists(top()));
}

TEST_F(FileTree, RemovesWhatIsWideAndClosedButNotWhatLinksLeadTo) {
    for (int i = 0; i < 300; ++i) tree_.write("top/wide/" + std::to_string(i) + "/file");
    tree_.write("top/closed/file");
    tree_.write("outside/kept");
    fs::create_directory_symlink(tree_.root() / "outside", top() / "link");
    fs::permissions(top() / "closed", fs::perms::none);
    fs::permissions(top(), fs::perms::owner_read);
    remove_tree(top());
    EXPECT_FALSE(fs::exists(top()));
    fs::create_directory_symlink(tree_.root() / "outside", top());
    remove_tree(top());
    EXPECT_FALSE(fs::is_symlink(top()));
    EXPECT_TRUE(fs::exists(tree_.root() / "outside/kept"));
    EXPECT_FALSE(remove_tree(top())) << "it is gone already";
}

}  // namespace
}  // namespace compat
