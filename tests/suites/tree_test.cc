#include "suites/tree.h"

#include <gmock/gmock.h>

#include <cerrno>

#include "tests/support/temp_tree.h"

namespace compat::suites {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> paths(const std::vector<TreeFile>& files) {
    std::vector<std::string> all;
    for (const TreeFile& file : files) all.push_back(file.path);
    return all;
}

TEST(Tree, SkipsFoldersWithoutSources) {
    const test::TempTree tree;
    for (const char* path :
         {"a.py", "pkg/b.py", "pkg/build/c.py", ".git/d.py", ".venv/e.py", "pkg/.hidden/f.py",
          "pkg/__pycache__/g.py", "env/pyvenv.cfg", "env/lib/h.py", "build/i.py", "dist/j.py",
          "x.egg-info/k.py", "node_modules/l.py"})
        tree.write(path, "12345");
    const auto files = list_tree(tree.root());
    EXPECT_THAT(paths(files), ElementsAre("a.py", "pkg/b.py", "pkg/build/c.py"));
    EXPECT_EQ(files[0].bytes, 5u);
}

TEST(Tree, StaysInsideTheRootDespiteLinks) {
    const test::TempTree outside;
    outside.write("secret.py");
    const test::TempTree tree;
    tree.write("tests/a.py");
    fs::create_directory_symlink(tree.root(), tree.root() / "tests/loop");
    fs::create_directory_symlink(outside.root(), tree.root() / "tests/away");
    fs::create_symlink(outside.root() / "secret.py", tree.root() / "tests/b.py");
    fs::create_symlink(tree.root() / "tests/a.py", tree.root() / "tests/c.py");
    fs::create_symlink(tree.root() / "nowhere", tree.root() / "tests/d.py");
    EXPECT_THAT(paths(list_tree(tree.root())), ElementsAre("tests/a.py", "tests/c.py"));
}

TEST(Tree, ListsOneFolder) {
    const test::TempTree tree;
    tree.write("a.py");
    tree.write("tests/b.py");
    tree.write("build/c.py");
    EXPECT_THAT(paths(list_tree(tree.root(), "tests/")), ElementsAre("tests/b.py"));
    EXPECT_THAT(paths(list_tree(tree.root(), ".")), ElementsAre("a.py", "tests/b.py"));
    EXPECT_THAT(paths(list_tree(tree.root(), "build")), ElementsAre("build/c.py"));
    EXPECT_THAT(list_tree(tree.root(), ".."), IsEmpty());
    EXPECT_THAT(list_tree(tree.root(), "none"), IsEmpty());
    EXPECT_THAT(list_tree(tree.root() / "none"), IsEmpty());
}

// A run keeps copies of the tests that it names, which are no tests of the project.
TEST(Tree, SkipsResultsOfTheRunner) {
    const test::TempTree tree;
    tree.write("test_a.py");
    tree.write("results/runner.db");
    tree.write("results/runs/one/source/test_a.py");
    tree.write("shard/record.jsonl");  // a run's folder by itself, from another machine
    tree.write("shard/source/test_a.py");
    tree.write("runs/test_b.py");
    EXPECT_THAT(paths(list_tree(tree.root())), ElementsAre("runs/test_b.py", "test_a.py"));
}

TEST(Tree, ListsARelativeRoot) {
    const test::TempTree tree;
    tree.write("project/tests/a.py");
    const fs::path before = fs::current_path();
    fs::current_path(tree.root());
    const auto whole = list_tree("project");
    const auto folder = list_tree("project", "tests");
    fs::current_path(before);
    EXPECT_THAT(paths(whole), ElementsAre("tests/a.py"));
    EXPECT_THAT(paths(folder), ElementsAre("tests/a.py"));
}

// A path that is too long is unreadable even for root.
TEST(Tree, ReportsAnUnreadableFolder) {
    const test::TempTree tree;
    tree.write("a.py");
    const fs::path before = fs::current_path();
    fs::current_path(tree.root());
    const std::string name(250, 'x');
    for (int i = 0; i < 17; ++i) {
        fs::create_directory(name);
        fs::current_path(name);
    }
    fs::current_path(before);
    const auto files = list_tree(tree.root());
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].path, "a.py");
    EXPECT_EQ(files[0].unreadable, 0);
    EXPECT_TRUE(files[1].path.starts_with(name + "/" + name));
    EXPECT_EQ(files[1].unreadable, ENAMETOOLONG);
}

}  // namespace
}  // namespace compat::suites
