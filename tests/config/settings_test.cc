#include "runner/config/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
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

}  // namespace
}  // namespace compat::config
