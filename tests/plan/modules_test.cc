#include <gmock/gmock.h>

#include "runner/plan/plan.h"
#include "suites/load.h"
#include "tests/support/temp_tree.h"

namespace compat::plan {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

suites::Suite listed_suite() {
    suites::Suite s;
    s.name = "demo";
    s.layout.tests = "tests";
    s.layout.modules = {"test_*.py", "*_check.py"};
    s.layout.exclude = {"tests/old", "tests/**/test_slow*.py"};
    return s;
}

TEST(ListModules, ListsModulesInOrderAndMarksExcludedOnes) {
    const test::TempTree tree;
    for (const char* path : {"tests/test_b.py", "tests/a/test_a.py", "tests/x_check.py",
                             "tests/old/test_c.py", "tests/a/b/test_slow_1.py"})
        tree.write(path, "1234567");
    for (const char* path :
         {"test_root.py", "tests/helper.py", "tests/test_data.json", "tests/.hidden/test_h.py",
          "tests/__pycache__/test_p.py", "tests/.venv/test_v.py", "tests/test_folder.py/inner.txt"})
        tree.write(path);
    const auto modules = list_modules(listed_suite(), tree.root());
    ASSERT_TRUE(modules.has_value()) << to_line(modules.error());
    std::vector<std::string> paths, excluded;
    for (const ModuleFile& module : *modules) {
        (module.excluded ? excluded : paths).push_back(module.path);
        EXPECT_EQ(module.bytes, 7u);
    }
    EXPECT_THAT(paths, ElementsAre("tests/a/test_a.py", "tests/test_b.py", "tests/x_check.py"));
    EXPECT_THAT(excluded, ElementsAre("tests/a/b/test_slow_1.py", "tests/old/test_c.py"));
}

TEST(ListModules, StaysInsideTheRoot) {
    const test::TempTree outside;
    outside.write("test_secret.py");
    const test::TempTree tree;
    tree.write("tests/test_a.py");
    fs::create_directory_symlink(outside.root(), tree.root() / "tests/away");
    fs::create_directory_symlink(tree.root() / "tests", tree.root() / "tests/loop");
    fs::create_symlink(outside.root() / "test_secret.py", tree.root() / "tests/test_link.py");
    const auto modules = list_modules(listed_suite(), tree.root());
    ASSERT_TRUE(modules.has_value()) << to_line(modules.error());
    ASSERT_EQ(modules->size(), 1u);
    EXPECT_EQ(modules->front().path, "tests/test_a.py");
}

TEST(ListModules, ErrorsNameMissingFolders) {
    const test::TempTree tree;
    const auto no_root = list_modules(listed_suite(), tree.root() / "none");
    ASSERT_FALSE(no_root.has_value());
    EXPECT_EQ(no_root.error().kind, ErrorKind::environment);
    EXPECT_THAT(to_line(no_root.error()), HasSubstr("--root"));

    const auto no_tests = list_modules(listed_suite(), tree.root());
    ASSERT_FALSE(no_tests.has_value());
    EXPECT_EQ(no_tests.error().kind, ErrorKind::environment);
    EXPECT_EQ(
        to_line(no_tests.error()),
        tree.root().string() + ": no tests folder \"tests\" in it: is this a checkout of demo?");

    tree.write("tests/helper.py");
    const auto no_module = list_modules(listed_suite(), tree.root());
    ASSERT_FALSE(no_module.has_value());
    EXPECT_EQ(no_module.error().kind, ErrorKind::nothing_selected);
    EXPECT_THAT(to_line(no_module.error()), HasSubstr("test_*.py, *_check.py"));
}

TEST(ListModules, AgreesWithConvention) {
    const test::TempTree tree;
    tree.write("pkg/tests/test_a.py", "def test_x(): pass\n");
    tree.write("pkg/tests/b_test.py", "def test_x(): pass\n");
    tree.write("pkg/code.py");
    const auto found = suites::load_suite(tree.root());
    ASSERT_TRUE(found.has_value()) << to_line(found.error());
    const auto modules = list_modules(*found, tree.root());
    ASSERT_TRUE(modules.has_value()) << to_line(modules.error());
    ASSERT_EQ(modules->size(), 2u);
    EXPECT_EQ((*modules)[0].path, "pkg/tests/b_test.py");
    EXPECT_EQ((*modules)[1].path, "pkg/tests/test_a.py");
}

}  // namespace
}  // namespace compat::plan
