#include "runner/config/config_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/support/temp_tree.h"

namespace compat::config {
namespace {

namespace fs = std::filesystem;

class ConfigFileTest : public ::testing::Test {
  protected:
    void SetUp() override { fs::current_path(tree_.root()); }
    void TearDown() override {
        fs::current_path(before_);
        ::unsetenv("XDG_CONFIG_HOME");
    }

    // The file's value of a setting, or the error without the test's folder.
    std::string found(Setting setting, const fs::path& suite_folder = {}) {
        const auto file = read_project_file(suite_folder);
        if (!file) return relative(to_line(file.error()));
        if (!*file) return "no file";
        const auto given = (*file)->values.find(setting);
        return given == (*file)->values.end()
                   ? "not given"
                   : relative(given->second.text + " " + given->second.where);
    }

    std::string relative(std::string text) const {
        const std::string root = tree_.root().string() + "/";
        for (std::size_t at = 0; (at = text.find(root)) != std::string::npos;)
            text.erase(at, root.size());
        return text;
    }

    test::TempTree tree_;
    fs::path before_ = fs::current_path();
};

TEST_F(ConfigFileTest, JsonWithComments) {
    EXPECT_EQ(found(Setting::jobs), "no file");
    tree_.write("runner.json", "{\n  // all cores but two\n  \"jobs\": 6, \"shim\": false\n}");
    EXPECT_EQ(found(Setting::jobs), "6 runner.json:3:11");
    EXPECT_EQ(found(Setting::shim), "off runner.json:3:22");
    EXPECT_EQ(found(Setting::python), "not given");
}

TEST_F(ConfigFileTest, TomlInPyproject) {
    tree_.write("pyproject.toml",
                "[project]\nname = 'x'\n[tool.runner]\npython = '.venv'\njobs = 2\nwarm = false\n");
    EXPECT_EQ(found(Setting::python), ".venv pyproject.toml:4:10");
    EXPECT_EQ(found(Setting::jobs), "2 pyproject.toml:5:8");
    EXPECT_EQ(found(Setting::warm), "off pyproject.toml:6:8");
}

TEST_F(ConfigFileTest, IgnoresErrorsInAFileWithoutSettings) {
    tree_.write("pyproject.toml", "[project\nname = = 'x'");
    EXPECT_EQ(found(Setting::jobs), "no file");
    tree_.write("pyproject.toml", "[project]\nname = 'runner'\n[tool.ruff]\nline-length = 100");
    EXPECT_EQ(found(Setting::jobs), "no file");
}

TEST_F(ConfigFileTest, UsesTheNearestFileUpToTheCheckout) {
    tree_.write("runner.json", R"({"jobs": 1})");
    tree_.write("checkout/a/b/x");
    fs::current_path(tree_.root() / "checkout/a/b");
    EXPECT_EQ(found(Setting::jobs), "no file") << "no checkout: only the current folder";
    tree_.write("checkout/.git/HEAD");
    EXPECT_EQ(found(Setting::jobs), "no file") << "above the checkout";
    tree_.write("checkout/runner.json", R"({"jobs": 2, "python": "venv"})");
    EXPECT_EQ(found(Setting::jobs), "2 checkout/runner.json:1:10");
    EXPECT_EQ(found(Setting::python), "checkout/venv checkout/runner.json:1:23");
    tree_.write("checkout/a/pyproject.toml", "[tool.runner]\njobs = 3");
    EXPECT_EQ(found(Setting::jobs), "3 checkout/a/pyproject.toml:2:8");
    EXPECT_EQ(found(Setting::python), "not given") << "one file, not a mixture";
}

TEST_F(ConfigFileTest, PrefersTheSuitesFileAndRunnerJson) {
    tree_.write("runner.json", R"({"jobs": 1})");
    tree_.write("suite/x");
    EXPECT_EQ(found(Setting::jobs, "suite"), "1 runner.json:1:10");
    tree_.write("suite/pyproject.toml", "[tool.runner]\njobs = 2");
    EXPECT_EQ(found(Setting::jobs, "suite"), "2 suite/pyproject.toml:2:8");
    tree_.write("suite/runner.json", R"({"jobs": 3})");
    EXPECT_EQ(found(Setting::jobs, "suite"), "3 suite/runner.json:1:10");
    EXPECT_EQ(found(Setting::jobs, "no-such-folder"), "1 runner.json:1:10");
}

TEST_F(ConfigFileTest, PathsAreRelativeToTheFileOrToHome) {
    const char* home = std::getenv("HOME");
    const std::string before = home ? home : "";
    ::setenv("HOME", "/home/x", 1);
    tree_.write("runner.json", R"({"root": "../src", "python": "~/env", "results": "/abs",
      "base_python": "python3.12", "cache": "./c"})");
    EXPECT_EQ(found(Setting::root),
              (tree_.root().parent_path() / "src").string() + " runner.json:1:10");
    EXPECT_EQ(found(Setting::python), "/home/x/env runner.json:1:30");
    EXPECT_EQ(found(Setting::results), "/abs runner.json:1:50");
    EXPECT_EQ(found(Setting::base_python), "python3.12 runner.json:2:22");
    EXPECT_EQ(found(Setting::cache), "c runner.json:2:45");
    ::setenv("HOME", before.c_str(), 1);
}

TEST_F(ConfigFileTest, ReadsTheUsersFile) {
    ::setenv("XDG_CONFIG_HOME", tree_.root().c_str(), 1);
    EXPECT_FALSE(read_user_file().value());
    tree_.write("runner/config.json", R"({"color": "never"})");
    const auto file = read_user_file();
    ASSERT_TRUE(file && *file);
    EXPECT_EQ((*file)->values.at(Setting::color).text, "never");
}

struct ErrorCase {
    const char *text, *line;
};

TEST_F(ConfigFileTest, ErrorsNamePlaceKeyAndAllowedValues) {
    const ErrorCase kJson[] = {
        {"{\"jobs\": 4,}", "runner.json:1:12: not JSON: "},
        {"[]", "runner.json:1:1: expected an object of settings"},
        {R"({"jobs": 1, "jobs": 2})", "runner.json:1:13: key \"jobs\" appears twice"},
        {R"({"polcy": "full"})",
         "runner.json:1:2: unknown key \"polcy\": did you mean \"policy\"? (allowed: jobs, "
         "timeout, "},
        {R"({"jobs": "4"})", "runner.json:1:10: \"jobs\": expected a whole number from 1 to 4096"},
        {R"({"jobs": 2147483648})",
         "runner.json:1:10: \"jobs\": \"2147483648\" is not a number of jobs: use a whole number "
         "from "
         "1 to 4096"},
        {R"({"retries": -1})",
         "runner.json:1:13: \"retries\": \"-1\" is not a number of retries: use a whole number "
         "from 0 "
         "to 10"},
        {R"({"shim": "on"})", "runner.json:1:10: \"shim\": expected true or false"},
        {R"({"policy": "ful"})",
         "runner.json:1:12: \"policy\": \"ful\" is not allowed: did you mean \"full\"? use one of "
         "missing|full|none"},
        {R"({"timeout": 30})", "runner.json:1:13: \"timeout\": expected a string"},
        {R"({"timeout": "soon"})",
         "runner.json:1:13: \"timeout\": \"soon\" is not a duration: write it as 90s, 30m or "
         "1h30m"},
        {R"({"timeout": "999999999h"})",
         "runner.json:1:13: \"timeout\": \"999999999h\" is too long: use a duration from 1ms to "
         "8760h"},
        {R"({"cost_gpu": 1})",
         "runner.json:1:2: \"cost_gpu\" was removed: set COMPAT_COST_GPU, which the device "
         "library reads"},
        {R"({"tpu_batch_factor": 8})",
         "runner.json:1:2: \"tpu_batch_factor\" was removed: set COMPUTE_TPU_BATCH_FACTOR"},
        {R"({"python": ""})", "runner.json:1:12: \"python\": the value is empty"},
    };
    for (const ErrorCase& c : kJson) {
        tree_.write("runner.json", c.text);
        EXPECT_TRUE(found(Setting::jobs).starts_with(c.line)) << found(Setting::jobs);
    }
    fs::remove(tree_.root() / "runner.json");
    const ErrorCase kToml[] = {
        {"[tool.runner]\njobs = = 1", "pyproject.toml:2:8: not TOML: "},
        {"[tool]\nrunner = 1", "pyproject.toml:2:10: \"runner\": expected a table of settings"},
        {"[tool.runner]\n\n  job = 1",
         "pyproject.toml:3:3: unknown key \"job\": did you mean \"jobs\"? (allowed: "},
        {"[tool.runner]\nwarm = 2020-01-01",
         "pyproject.toml:2:8: \"warm\": expected true or false"},
        {"[tool.runner]\njobs = [1]",
         "pyproject.toml:2:8: \"jobs\": expected a whole number from 1 to 4096"},
    };
    for (const ErrorCase& c : kToml) {
        tree_.write("pyproject.toml", c.text);
        EXPECT_TRUE(found(Setting::jobs).starts_with(c.line)) << found(Setting::jobs);
    }
}

TEST_F(ConfigFileTest, IgnoresTheSchemaKeyOfEditors) {
    tree_.write("runner.json", R"({"$schema": "config.schema.json", "jobs": 1})");
    EXPECT_EQ(found(Setting::jobs), "1 runner.json:1:43");
}

}  // namespace
}  // namespace compat::config
