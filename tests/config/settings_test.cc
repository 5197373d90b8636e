#include "runner/config/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <tuple>

#include "tests/support/temp_tree.h"

namespace compat::config {
namespace {

namespace fs = std::filesystem;

class SettingsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const auto& row : kSettings) ::unsetenv(std::string(row.variable).c_str());
        ::unsetenv("VIRTUAL_ENV");
        ::setenv("XDG_CONFIG_HOME", (tree_.root() / "config").c_str(), 1);
        fs::current_path(tree_.root());
    }
    void TearDown() override {
        for (const auto& row : kSettings) ::unsetenv(std::string(row.variable).c_str());
        ::unsetenv("VIRTUAL_ENV");
        ::unsetenv("XDG_CONFIG_HOME");
        fs::current_path(before_);
    }

    std::string value_of(Setting setting, const Flags& flags, const suites::Suite* suite) {
        const auto settings = Settings::resolve({flags, {}, {}, {}}, suite);
        std::string text = settings ? (*settings)[setting].text + " " + (*settings)[setting].origin
                                    : to_line(settings.error());
        const std::string root = tree_.root().string() + "/";
        for (std::size_t at = 0; (at = text.find(root)) != std::string::npos;)
            text.erase(at, root.size());
        return text;
    }

    test::TempTree tree_;
    fs::path before_ = fs::current_path();
};

TEST_F(SettingsTest, FlagPrecedesVariableProjectSuiteUserAndDefault) {
    suites::Suite suite;
    suite.name = "x";
    const auto timeout = [&](const Flags& flags = {}) {
        return value_of(Setting::timeout, flags, &suite);
    };
    EXPECT_EQ(timeout(), "30m default");
    tree_.write("config/runner/config.json", R"({"timeout": "4m"})");
    EXPECT_EQ(timeout(), "4m config/runner/config.json:1:13");
    suite.setting_texts["limits.module_timeout"] = "5m";
    EXPECT_EQ(timeout(), "5m suite: limits.module_timeout");
    suite.setting_texts["limits.module_timeout"] = "30m";
    EXPECT_EQ(timeout(), "30m suite: limits.module_timeout") << "given, though it is the default";
    tree_.write("runner.json", R"({"timeout": "6m"})");
    EXPECT_EQ(timeout(), "6m runner.json:1:13");
    ::setenv("COMPAT_TIMEOUT", "90s", 1);
    EXPECT_EQ(timeout(), "90s COMPAT_TIMEOUT");
    EXPECT_EQ(timeout({{Setting::timeout, "1h"}}), "1h --timeout");
}

TEST_F(SettingsTest, FindsThePythonOfAProjectWithoutSuiteJson) {
    suites::Suite suite;
    suite.by_convention = true;
    tree_.write("config/runner/config.json", R"({"python": "/user"})");
    EXPECT_EQ(value_of(Setting::python, {}, &suite), "/user config/runner/config.json:1:12");
    ::setenv("VIRTUAL_ENV", "/active", 1);
    EXPECT_EQ(value_of(Setting::python, {}, &suite), "/active VIRTUAL_ENV");
    tree_.write("runner.json", R"({"python": ".venv"})");
    EXPECT_EQ(value_of(Setting::python, {}, &suite), ".venv runner.json:1:12");
}

TEST_F(SettingsTest, ReadsTheSuitesFileBeforeTheSuiteIsLoaded) {
    tree_.write("project/runner.json", R"({"results": "out", "progress": "json"})");
    const Invocation invocation{{}, {}, {}, "project"};
    EXPECT_EQ(results_folder(invocation).value(), tree_.root() / "project/out");
    EXPECT_EQ(text_before_suite(invocation, Setting::progress), "json");
    EXPECT_EQ(results_folder({}).value(), tree_.root() / "results");
}

TEST_F(SettingsTest, ABadValueNamesItsOrigin) {
    ::setenv("COMPAT_SHIM", "perhaps", 1);
    const auto settings = Settings::resolve({}, nullptr);
    ASSERT_FALSE(settings);
    EXPECT_EQ(to_line(settings.error()),
              "COMPAT_SHIM: \"perhaps\" is not allowed: use one of on|off");
}

TEST_F(SettingsTest, ANumberOutOfRangeNamesTheFlagAndTheRange) {
    EXPECT_EQ(value_of(Setting::jobs, {{Setting::jobs, "2147483648"}}, nullptr),
              "--jobs: \"2147483648\" is not a number of jobs: use a whole number from 1 to 4096");
    EXPECT_EQ(value_of(Setting::jobs, {{Setting::jobs, "4097"}}, nullptr),
              "--jobs: \"4097\" is not a number of jobs: use a whole number from 1 to 4096");
    EXPECT_EQ(value_of(Setting::retries, {{Setting::retries, "11"}}, nullptr),
              "--retries: \"11\" is not a number of retries: use a whole number from 0 to 10");
    EXPECT_EQ(value_of(Setting::timeout, {{Setting::timeout, "8761h"}}, nullptr),
              "--timeout: \"8761h\" is too long: use a duration from 1ms to 8760h");
    EXPECT_EQ(value_of(Setting::retries, {{Setting::retries, "10"}}, nullptr), "10 --retries");
}

TEST_F(SettingsTest, OptionsOfASimulatedMacNeedOne) {
    for (const auto& [setting, word, flag] :
         {std::tuple{Setting::start_method, "fork", "--start-method"},
          std::tuple{Setting::mac_like, "on", "--mac-like"}}) {
        EXPECT_EQ(value_of(setting, {{setting, word}}, nullptr),
                  std::string(flag) + ": only a simulated Mac has this setting: add --simulate mps");
        EXPECT_EQ(value_of(setting, {{setting, word}, {Setting::simulate, "mps"}}, nullptr),
                  std::string(word) + " " + flag);
    }
    const auto macos = [&](const Flags& flags) { return value_of(Setting::macos, flags, nullptr); };
    const std::string refused = "--macos: only a simulated Mac has this setting: add --simulate mps";
    EXPECT_EQ(macos({{Setting::macos, "14"}}), refused);
    EXPECT_EQ(macos({{Setting::macos, "14"}, {Setting::simulate, "cuda"}}), refused);
    EXPECT_EQ(macos({{Setting::macos, "14"}, {Setting::simulate, "mps"}}), "14 --macos");
    ::setenv("COMPAT_MACOS", "15", 1);
    EXPECT_EQ(macos({}), "15 COMPAT_MACOS") << "for the runs that simulate a Mac";
    ::setenv("COMPAT_SIMULATE", "mps", 1);
    EXPECT_EQ(macos({{Setting::macos, "14"}}), "14 --macos");
}

TEST_F(SettingsTest, EachRowOfTheTableHasItsOwnSettingVariableAndKey) {
    std::set<Setting> settings;
    std::set<std::string_view> variables, keys;
    for (const auto& row : kSettings) {
        EXPECT_TRUE(settings.insert(row.setting).second);
        EXPECT_TRUE(variables.insert(row.variable).second);
        EXPECT_TRUE(keys.insert(row.key).second);
    }
}

TEST_F(SettingsTest, UsesAProjectsOwnEnvironmentByDefault) {
    namespace fs = std::filesystem;
    const fs::path project = fs::path(::testing::TempDir()) / "project_with_environment";
    suites::Suite suite;
    suite.folder = project;
    suite.by_convention = true;
    const auto python = [&](const Flags& flags) {
        const auto settings = Settings::resolve({flags, {}, {}, {}}, &suite);
        return settings
                   ? (*settings)[Setting::python].origin + " " + settings->text(Setting::python)
                   : to_line(settings.error());
    };
    ::unsetenv("VIRTUAL_ENV");
    EXPECT_EQ(python({}), "default ");
    fs::create_directories(project / ".venv/bin");
    std::ofstream(project / ".venv/bin/python") << "";
    EXPECT_EQ(python({}), ".venv " + (project / ".venv").string());
    ::setenv("VIRTUAL_ENV", "/active", 1);
    EXPECT_EQ(python({}), "VIRTUAL_ENV /active");
    EXPECT_EQ(python({{Setting::python, "/given"}}), "--python /given");
    ::unsetenv("VIRTUAL_ENV");
    suite.by_convention = false;
    EXPECT_EQ(python({}), "default ");
    fs::remove_all(project);
}

}  // namespace
}  // namespace compat::config
