// The defaults of the table of settings.
#include "runner/config/settings_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "devices/settings.h"
#include "suites/schema.h"

namespace compat::config {
namespace {

using ::testing::ElementsAre;

// suite.schema.json repeats defaults for editors; the table decides.
TEST(SettingsTable, DefaultsMatchTheSchemaOfSuites) {
    const auto schema = nlohmann::json::parse(suites::schema_text());
    for (const SettingRow& row : kSettings) {
        if (row.in_suite.empty()) continue;
        nlohmann::json key = schema;
        for (std::string_view rest = row.in_suite; !rest.empty();) {
            const std::size_t dot = std::min(rest.find('.'), rest.size());
            key = key["properties"][std::string(rest.substr(0, dot))];
            rest.remove_prefix(std::min(dot + 1, rest.size()));
        }
        ASSERT_FALSE(key.is_null()) << row.in_suite;
        if (!key.contains("default")) continue;
        const auto& value = key["default"];
        const std::string text = value.is_boolean()  ? (value.get<bool>() ? "on" : "off")
                                 : value.is_string() ? value.get<std::string>()
                                                     : value.dump();
        EXPECT_EQ(default_of(row), text) << row.in_suite;
        if (row.type == Type::number) {
            EXPECT_EQ(key["minimum"], row.least) << row.in_suite;
            EXPECT_EQ(key["maximum"], row.most) << row.in_suite;
        }
    }
}

// The device library reads the same variables in the processes that a run starts.
TEST(SettingsTable, MatchesTheDeviceLibrary) {
    std::set<std::string_view> alone;  // names of what only the library has
    for (const devices::SettingRow& theirs : devices::kSettings) {
        alone.insert(theirs.name);
        for (const SettingRow& row : kSettings)
            if (row.variable == theirs.variable) {
                alone.erase(theirs.name);
                EXPECT_EQ(row.fixed, theirs.fallback) << theirs.name;
                std::string allowed(row.allowed);
                for (std::size_t bar; (bar = allowed.find('|')) != std::string::npos;)
                    allowed.replace(bar, 1, ", ");
                if (theirs.kind != devices::ValueKind::fraction &&
                    theirs.kind != devices::ValueKind::positive) {
                    EXPECT_TRUE(theirs.allowed.starts_with(allowed)) << theirs.name;
                }
            }
    }
    EXPECT_THAT(alone, ElementsAre("cost_cpu", "cost_gpu", "cost_tpu", "tpu_batch_factor"));
}

TEST(SettingsTable, HasTheDevicesOfTheirTable) {
    const auto words = words_of(kDeviceWords);
    for (const DeviceKind& device : kDeviceKinds) {
        if (!device.word.empty()) {
            EXPECT_EQ(std::count(words.begin(), words.end(), device.word), 1) << device.word;
        }
        for (const std::string_view key : device.settings)
            EXPECT_EQ(std::count_if(kSettings.begin(), kSettings.end(),
                                    [&](const SettingRow& row) { return row.key == key; }),
                      key.empty() ? 0 : 1)
                << key;
    }
    EXPECT_EQ(row_of(Setting::simulate).allowed, "off|mps|cuda");
}

TEST(SettingsTable, EachDefaultIsAllowed) {
    for (const SettingRow& row : kSettings)
        if (const std::string text = default_of(row); !text.empty()) {
            EXPECT_FALSE(refuse(row, text)) << row.key << " " << text;
        }
}

}  // namespace
}  // namespace compat::config
