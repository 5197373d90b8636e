#include "runner/config/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

namespace compat::config {
namespace {

class SettingsTest : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const auto& row : kSettings) ::unsetenv(std::string(row.variable).c_str());
    }
    void TearDown() override { SetUp(); }
};

TEST_F(SettingsTest, FlagOverVariableOverSuiteOverDefault) {
    suites::Suite suite;
    suite.name = "x";
    const auto origin = [&](const Flags& flags) {
        const auto settings = Settings::resolve(flags, &suite);
        return settings
                   ? (*settings)[Setting::timeout].text + " " + (*settings)[Setting::timeout].origin
                   : to_line(settings.error());
    };
    EXPECT_EQ(origin({}), "30m default");
    suite.limits.module_timeout = std::chrono::minutes(5);
    EXPECT_EQ(origin({}), "5m suite: limits.module_timeout");
    ::setenv("COMPAT_TIMEOUT", "90s", 1);
    EXPECT_EQ(origin({}), "90s COMPAT_TIMEOUT");
    EXPECT_EQ(origin({{Setting::timeout, "1h"}}), "1h --timeout");
}

TEST_F(SettingsTest, ABadValueNamesWhereItStands) {
    ::setenv("COMPAT_SHIM", "perhaps", 1);
    const auto settings = Settings::resolve({}, nullptr);
    ASSERT_FALSE(settings);
    EXPECT_EQ(to_line(settings.error()),
              "COMPAT_SHIM: \"perhaps\" is not allowed: use one of on|off");
}

TEST_F(SettingsTest, EachRowOfTheTableHasItsOwnSettingAndVariable) {
    std::set<Setting> settings;
    std::set<std::string_view> variables;
    for (const auto& row : kSettings) {
        EXPECT_TRUE(settings.insert(row.setting).second);
        EXPECT_TRUE(variables.insert(row.variable).second);
    }
}

TEST_F(SettingsTest, AProjectsOwnEnvironmentIsUsedWhereNoOtherIsNamed) {
    namespace fs = std::filesystem;
    const fs::path project = fs::path(::testing::TempDir()) / "project_with_environment";
    suites::Suite suite;
    suite.folder = project;
    suite.by_convention = true;
    const auto python = [&](const Flags& flags) {
        const auto settings = Settings::resolve(flags, &suite);
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
