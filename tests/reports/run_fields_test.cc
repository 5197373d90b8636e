// The list of a run's fields against what restates it: the schema of report.json, the page's types.
#include "runner/base/run/run_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
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

TEST(RunFields, AreThoseOfTheReportsSchemaAndOfThePagesType) {
    const auto written = keys_of(run_json(RunView()));
    const auto schema = nlohmann::ordered_json::parse(source("reports/schemas/report.schema.json"));
    EXPECT_EQ(keys_of(schema["properties"]["run"]["properties"]), written);

    const std::string types = source("reports/html/web/src/data.ts");
    const std::size_t begin = types.find("export interface Run {"), end = types.find("\n}", begin);
    ASSERT_NE(begin, std::string::npos);
    const std::string members = types.substr(begin, end - begin);
    const std::regex member("(\\w+): ");
    std::set<std::string> typed;
    for (auto at = std::sregex_iterator(members.begin(), members.end(), member);
         at != std::sregex_iterator(); ++at)
        typed.insert((*at)[1]);
    EXPECT_EQ(typed.erase("imported"), 1) << "the page alone has it";
    EXPECT_EQ(typed, written);
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
