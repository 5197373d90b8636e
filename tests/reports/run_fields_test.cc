// The list of a run's fields against what restates it: the schema of report.json.
#include "runner/base/run/run_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/json_parts.h"
#include "runner/base/files.h"
#include "runner/store/comparable.h"
#include "tests/paths.h"

namespace compat::reports {
namespace {

std::string source(const char* path) {
    return read_file(std::filesystem::path(COMPAT_SOURCE_DIR) / path).value();
}

std::set<std::string> keys_of(const nlohmann::ordered_json& object) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    return keys;
}

// The page's types are made of the schema.
TEST(RunFields, AreThoseOfTheReportsSchema) {
    const auto schema = nlohmann::ordered_json::parse(source("reports/schemas/report.schema.json"));
    EXPECT_EQ(keys_of(schema["properties"]["run"]["properties"]), keys_of(run_json(RunView())));
}

TEST(RunFields, HaveTheirTypesInTheReportsSchema) {
    const auto schema = nlohmann::ordered_json::parse(source("reports/schemas/report.schema.json"));
    const RunInfo any;
    run_fields(any, [&](const RunField& field, const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        if (field.report == RunField::Reported::no) return;
        const auto& property = schema["properties"]["run"]["properties"][std::string(field.key)];
        const bool nullable = field.report == RunField::Reported::or_null ||
                              std::is_same_v<T, std::optional<std::string>>;
        const std::string type = std::is_same_v<T, bool> ? "boolean"
                                 : std::is_integral_v<T> ? "integer"
                                                         : "string";
        if (property.contains("enum"))
            for (const auto& word : property["enum"]) EXPECT_TRUE(word.is_string()) << field.key;
        else if (nullable)
            EXPECT_EQ(property["type"], nlohmann::ordered_json({type, "null"})) << field.key;
        else
            EXPECT_EQ(property["type"], type) << field.key;
    });
}

// A key has a part for each field that separates runs, whatever its type.
TEST(RunFields, NamesAreUniqueAndEachThatSeparatesIsPartOfTheKey) {
    std::set<std::string_view> keys, columns, shared;
    std::size_t count = 0, shared_count = 0, separating = 0;
    const RunInfo any;
    run_fields(any, [&](const RunField& field, const auto&) {
        ++count;
        keys.insert(field.key);
        columns.insert(field.column);
        separating += field.separates;
        if (field.shared.empty()) return;
        ++shared_count;
        shared.insert(field.shared);
    });
    EXPECT_EQ(keys.size(), count);
    EXPECT_EQ(columns.size(), count);
    EXPECT_EQ(shared.size(), shared_count);
    EXPECT_EQ(store::comparable_key(any).size(), separating);
}

}  // namespace
}  // namespace compat::reports
