#include "suites/convention.h"

#include <gmock/gmock.h>

#include "suites/load.h"
#include "tests/support/temp_tree.h"

namespace compat::suites {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kUnittest =
    "import unittest\n\n\nclass ATest(unittest.TestCase):\n    def test_x(self):\n        pass\n";
constexpr std::string_view kFunctions = "def test_x():\n    assert True\n";

struct File {
    const char* path;
    std::string_view text;
};

struct Case {
    const char* what;
    std::vector<File> files;
    Framework framework;
    std::string tests;
    std::string pythonpath;
    std::string found;  // part of what is said about the framework
};

const Case kCases[] = {
    {"unittest classes in tests/, flat",
     {{"pkg/__init__.py", ""}, {"tests/test_a.py", kUnittest}, {"tests/test_b.py", kUnittest}},
     Framework::unittest,
     "tests",
     ".",
     "unittest: 2 modules with unittest classes"},
    {"src layout with test functions in test/",
     {{"src/pkg/__init__.py", ""}, {"test/test_a.py", kFunctions}},
     Framework::pytest,
     "test",
     "src",
     "pytest: 1 module with test functions"},
    {"pytest.ini, even empty, over unittest classes",
     {{"pytest.ini", ""}, {"tests/test_a.py", kUnittest}},
     Framework::pytest,
     "tests",
     ".",
     "pytest: pytest.ini [pytest]"},
    {"pyproject.toml with paths and globs",
     {{"pyproject.toml",
       "[tool.pytest.ini_options]\ntestpaths = [\"checks/\"]\npython_files = \"check_*.py\"\n"},
      {"checks/check_a.py", kFunctions},
      {"tests/test_b.py", kFunctions}},
     Framework::pytest,
     "checks",
     ".",
     "pytest: pyproject.toml [tool.pytest.ini_options]"},
    {"several testpaths: what holds them all",
     {{"pytest.ini", "[pytest]\ntestpaths = pkg/a pkg/b none\n"},
      {"pkg/a/test_a.py", kFunctions},
      {"pkg/b/test_b.py", kFunctions}},
     Framework::pytest,
     "pkg",
     ".",
     "pytest: pytest.ini [pytest]"},
    {"pyproject.toml that does not speak of pytest",
     {{"pyproject.toml", "[build-system]\nrequires = []\n"}, {"tests/test_a.py", kUnittest}},
     Framework::unittest,
     "tests",
     ".",
     "unittest: 1 module"},
    {"setup.cfg",
     {{"setup.cfg", "[tool:pytest]\naddopts = -ra\n"}, {"tests/test_a.py", kUnittest}},
     Framework::pytest,
     "tests",
     ".",
     "pytest: setup.cfg [tool:pytest]"},
    {"tox.ini",
     {{"tox.ini", "[pytest]\naddopts = -ra\n"}, {"tests/test_a.py", kUnittest}},
     Framework::pytest,
     "tests",
     ".",
     "pytest: tox.ini [pytest]"},
    {"conftest.py",
     {{"tests/conftest.py", ""}, {"tests/test_a.py", kUnittest}},
     Framework::pytest,
     "tests",
     ".",
     "pytest: tests/conftest.py"},
    {"tests inside one package",
     {{"pkg/__init__.py", ""}, {"pkg/tests/test_a.py", kFunctions}},
     Framework::pytest,
     "pkg/tests",
     ".",
     "pytest: 1 module"},
    {"tests inside several packages",
     {{"pkg/a/tests/test_a.py", kUnittest}, {"pkg/b/tests/test_b.py", kUnittest}},
     Framework::unittest,
     "pkg",
     ".",
     "unittest: 2 modules"},
    {"modules beside the code",
     {{"a.py", ""}, {"a_test.py", kUnittest}},
     Framework::unittest,
     ".",
     ".",
     "unittest: 1 module"},
};

TEST(Convention, DetectsLayoutAndFramework) {
    for (const Case& c : kCases) {
        SCOPED_TRACE(c.what);
        const test::TempTree tree;
        for (const File& file : c.files) tree.write(file.path, file.text);
        const auto suite = load_suite(tree.root());
        ASSERT_TRUE(suite.has_value()) << to_line(suite.error());
        EXPECT_TRUE(suite->by_convention);
        EXPECT_EQ(suite->name, tree.root().filename().string());
        EXPECT_EQ(suite->framework, c.framework);
        EXPECT_EQ(suite->layout.tests, c.tests);
        EXPECT_THAT(suite->layout.pythonpath, ElementsAre(c.pythonpath));
        EXPECT_EQ(suite->source.kind, SourceKind::path);
        EXPECT_THAT(suite->detected, ::testing::Contains(HasSubstr(c.found)));
    }
}

TEST(Convention, ListsWhatItDetected) {
    const test::TempTree tree;
    tree.write("src/pkg/__init__.py");
    tree.write("tests/test_a.py", kUnittest);
    const auto suite = find_by_convention(tree.root());
    ASSERT_TRUE(suite.has_value());
    EXPECT_THAT(suite->detected,
                ElementsAre("1 test module in tests/ (test_*.py, *_test.py)",
                            "src layout: src/ is on PYTHONPATH",
                            "unittest: 1 module with unittest classes, none that needs pytest"));
}

TEST(Convention, NamesAFolderEndingInASlash) {
    const test::TempTree tree;
    tree.write("proj/tests/test_a.py", kUnittest);
    const auto suite = find_by_convention(tree.root() / "proj/");
    ASSERT_TRUE(suite.has_value());
    EXPECT_EQ(suite->name, "proj");
}

TEST(Convention, RejectsAFolderWithoutTests) {
    const test::TempTree tree;
    tree.write("pkg/code.py");
    tree.write(".venv/tests/test_a.py", kUnittest);
    const auto suite = load_suite(tree.root());
    ASSERT_FALSE(suite.has_value());
    EXPECT_EQ(suite.error().kind, ErrorKind::suite);
    EXPECT_EQ(to_line(suite.error()),
              tree.root().string() +
                  ": found no suite.json and no test module (test_*.py, *_test.py): "
                  "choose another folder or write a suite.json (docs/reference/suite-format.md)");
}

}  // namespace
}  // namespace compat::suites
