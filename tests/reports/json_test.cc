#include "reports/json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "runner/base/files.h"
#include "tests/paths.h"
#include "tests/reports/sample_run.h"
#include "tests/support/redact.h"
#include "tests/support/temp_tree.h"

namespace compat::reports {
namespace {

using nlohmann::json;

json schema() {
    return json::parse(*read_file(std::filesystem::path(COMPAT_SOURCE_DIR) /
                                  "reports/schemas/report.schema.json"));
}

// Empty if the report matches the schema.
std::string schema_errors(const json& report) {
    const json document = schema();
    valijson::Schema compiled;
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document),
                                            compiled);
    valijson::ValidationResults results;
    valijson::Validator validator;
    if (validator.validate(compiled, valijson::adapters::NlohmannJsonAdapter(report), &results))
        return {};
    std::string text;
    for (const auto& error : results) {
        for (const auto& step : error.context) text += step;
        text += ": " + error.description + "\n";
    }
    return text;
}

class JsonTest : public testing::Test {
  protected:
    void SetUp() override { samples::make_source(root); }
    samples::Model build() const { return samples::model(stored, folder.root() / "run"); }

    test::TempTree folder;
    std::filesystem::path root = folder.root() / "src";
    samples::Run stored = samples::run(root);
};

TEST_F(JsonTest, Golden) {
    test::expect_golden("report.json",
                        test::redacted(samples::to_json(build()), {{root.string(), "/src"}}));
}

TEST_F(JsonTest, MatchesItsSchema) {
    EXPECT_EQ(schema_errors(json::parse(samples::to_json(build()))), "");
    stored.modules.clear();
    stored.end.reset();
    EXPECT_EQ(schema_errors(json::parse(samples::to_json(build()))), "");
}

// Keys that the schema does not know, below `pointer`.
void unknown_keys(const json& document, const json& node, const json& value,
                  const std::string& pointer, std::set<std::string>& unknown) {
    const json& rule =
        node.contains("$ref")
            ? document.at(json::json_pointer(node.at("$ref").get<std::string>().substr(1)))
            : node;
    if (value.is_array() && rule.contains("items")) {
        for (const json& item : value)
            unknown_keys(document, rule.at("items"), item, pointer + "[]", unknown);
    } else if (value.is_object() && rule.contains("properties")) {
        for (const auto& [key, member] : value.items()) {
            if (!rule.at("properties").contains(key))
                unknown.insert(pointer + "." + key);
            else
                unknown_keys(document, rule.at("properties").at(key), member, pointer + "." + key,
                             unknown);
        }
    }
}

TEST_F(JsonTest, TheSchemaDescribesEveryKey) {
    std::set<std::string> unknown;
    unknown_keys(schema(), schema(), json::parse(samples::to_json(build())), "", unknown);
    EXPECT_THAT(unknown, testing::IsEmpty());
}

TEST_F(JsonTest, TheSchemaRefusesMissingAndRetypedKeys) {
    const json report = json::parse(samples::to_json(build()));
    for (const char* pointer :
         {"/format", "/totals/untouched", "/run/fingerprint", "/accounting/closed",
          "/links/unresolved", "/modules/0/cases/0/state", "/modules/0/cases/2/failure/key_line",
          "/modules/0/cases/0/marks", "/redirections/0/count", "/leaked_processes",
          "/load_failures", "/gaps", "/clusters"}) {
        const json::json_pointer place(pointer);
        json without = report;
        without.at(place.parent_pointer()).erase(place.back());
        EXPECT_NE(schema_errors(without), "") << pointer;
        json other = report;
        other.at(place) = 0.5;
        EXPECT_NE(schema_errors(other), "") << pointer;
    }
}

TEST_F(JsonTest, HasTheNumbersOfTheModel) {
    const samples::Model model = build();
    const json report = json::parse(samples::to_json(model));
    const json& totals = report.at("totals");
    EXPECT_EQ(totals.at("modules"), model.totals.modules);
    EXPECT_EQ(totals.at("collected"), model.totals.collected);
    std::map<std::string, std::int64_t> counted;
    for (const json& module : report.at("modules"))
        for (const json& test : module.at("cases")) {
            ++counted[test.at("state")];
            for (const json& mark : test.at("marks")) ++counted[mark];
        }
    for (size_t i = 0; i < parsers::kStateNames.size(); ++i) {
        const std::string name(parsers::kStateNames[i]);
        EXPECT_EQ(totals.at(name), model.totals.states[i]) << name;
        EXPECT_EQ(totals.at(name), counted[name]) << name;
    }
    EXPECT_EQ(totals.at("redirected"), counted["redirected"]);
    EXPECT_EQ(totals.at("untouched"), counted["untouched"]);
    EXPECT_EQ(totals.at("device"), model.totals.device);
    EXPECT_EQ(totals.at("fallback"), model.totals.fallback);
    EXPECT_EQ(totals.at("flaky"), model.totals.flaky);
    EXPECT_EQ(report.at("links").at("total"), model.links_total);
    EXPECT_EQ(report.at("links").at("unresolved"), model.links_unresolved);
}

TEST_F(JsonTest, TheTotalsStandBeforeTheModules) {
    const std::string text = samples::to_json(build());
    const size_t modules = text.find("\n \"modules\": [");
    ASSERT_NE(modules, std::string::npos);
    for (const char* key : {"totals", "accounting", "clusters", "gaps", "load_failures"})
        EXPECT_LT(text.find("\n \"" + std::string(key) + "\": "), modules) << key;
}

TEST_F(JsonTest, InvalidUtf8IsReplaced) {
    stored.modules[0].attempts[0].record.cases[2].failure->message = "\xff\xfe";
    const json report = json::parse(samples::to_json(build()));
    EXPECT_EQ(report.at("modules").at(0).at("cases").at(2).at("failure").at("message"),
              "\xef\xbf\xbd\xef\xbf\xbd");
}

}  // namespace
}  // namespace compat::reports
