// The file hub.names.json: what is read, and what is refused and where.
#include "suites/hub_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace compat::suites {
namespace {

TEST(HubNamesFile, IsReadWithoutItsComments) {
    const auto names = parse_hub_names(R"({
      "format": 1,
      "models": {"org/a": "BertForMaskedLM"},  // as its card says
      "datasets": {"org/d": {"splits": ["train"], "configs": {
        "default": {"text": "text", "tags": ["word"], "answers": {"start": ["int"]}}}}}
    })",
                                       "hub.names.json");
    ASSERT_TRUE(names) << to_line(names.error());
    const auto document = nlohmann::json::parse(*names);
    EXPECT_EQ(document["models"]["org/a"], "BertForMaskedLM");
    EXPECT_EQ(document["datasets"]["org/d"]["configs"]["default"]["tags"][0], "word");
    EXPECT_TRUE(parse_hub_names(R"({"format": 1})", "hub.names.json"));
}

TEST(HubNamesFile, IsRefusedWithPlaceAndAdvice) {
    struct Row {
        const char *text, *error;
    };
    for (
        const auto& [text, error] :
        {Row{"", "hub.names.json:1:1"}, Row{R"({"format": 2})", "format 2 is newer"},
         Row{R"({"format": 1, "models": {"a": 3}})", "hub.names.json:1:31"},
         Row{R"({"format": 1, "models": {"a": "not a class"}})", "the name of a class"},
         Row{R"({"format": 1, "model": {}})", "hub.names.json:1:15"},
         Row{R"({"format": 1, "datasets": {"d": {"splits": ["train"]}}})", "configs"},
         Row{R"({"format": 1, "datasets": {"d": {"splits": ["train"], "configs": {"c": {"x": []}}}}})",
             "a kind of column"}}) {
        const auto names = parse_hub_names(text, "hub.names.json");
        ASSERT_FALSE(names) << text;
        EXPECT_EQ(names.error().kind, ErrorKind::suite) << text;
        EXPECT_THAT(to_line(names.error()), testing::HasSubstr(error)) << text;
    }
}

}  // namespace
}  // namespace compat::suites
