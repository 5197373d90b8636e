// The file expectations.json: what is read, what is refused and where, and how its text changes.
#include "suites/expectations.h"

#include <gtest/gtest.h>

#include "suites/schema.h"

namespace compat::suites {
namespace {

std::vector<Expectation> entries_of(std::string_view text) {
    auto entries = parse_expectations(text, "e.json");
    EXPECT_TRUE(entries) << to_line(entries.error());
    return entries.value_or(std::vector<Expectation>{});
}

TEST(ExpectationsFile, ReadsBothForms) {
    const char* list = R"([
      // Why this one is here.
      {"test": "a::*", "expect": "failed",
       "when": {"device": ["mps", "cuda"], "torch": ">=2.1,<2.5", "shim": true, "fallback": false},
       "reason": "r", "issue": "https://example.org/1", "until": "2028-02-29"},
      {"test": "b", "expect": ["passed", "failed"]}
    ])";
    const auto entries = entries_of(list);
    ASSERT_EQ(entries.size(), 2u);
    EXPECT_EQ(entries[0].test, "a::*");
    EXPECT_EQ(entries[0].when.at("device"), (std::vector<std::string>{"mps", "cuda"}));
    EXPECT_EQ(entries[0].when.at("shim"), std::vector<std::string>{"on"});
    EXPECT_EQ(entries[0].when.at("fallback"), std::vector<std::string>{"off"});
    EXPECT_EQ(entries[0].until, "2028-02-29");
    EXPECT_EQ(entries[1].expect, (std::vector<std::string>{"passed", "failed"}));
    EXPECT_EQ(entries_of(std::string(R"({"format": 1, "expectations": )") + list + "}"), entries);
    EXPECT_TRUE(entries_of("[]").empty());
}

TEST(ExpectationsFile, RefusesWithPlaceAndAdvice) {
    struct Row {
        const char *text, *error;
    };
    const std::vector<Row> table{
        {"", "e.json:1:1: not JSON"},
        {"[{]", "e.json:1:3: not JSON"},
        {R"({"format": 2, "expectations": []})",
         "e.json:1:12: format 2 is newer than this runner supports (format 1): update the runner"},
        {R"({"expectations": []})", "e.json:1:1: \"format\" is missing"},
        {"[\n  {\"test\": \"a\"}]", "e.json:2:3: \"expect\" is missing"},
        {"[\n  {\"test\": \"a\", \"expct\": \"failed\"}]",
         "e.json:2:17: unknown key \"expct\"; did you mean \"expect\"?"},
        {R"([{"test": "a", "expect": "fail"}])", "e.json:1:26: \"fail\": expected a state"},
        {R"([{"test": "a", "expect": []}])", "e.json:1:26: []: expected a state, or a list"},
        {R"([{"test": "", "expect": "failed"}])", "e.json:1:11: \"\": expected a text"},
        {R"([{"test": "a", "expect": "failed", "when": {"divice": "mps"}}])",
         "e.json:1:45: unknown key \"divice\"; did you mean \"device\"?"},
        {R"([{"test": "a", "expect": "failed", "when": {"torch": "2.1"}}])",
         "e.json:1:54: \"2.1\": expected a range of versions such as \">=2.1,<2.5\""},
        {R"([{"test": "a", "expect": "failed", "when": {"shim": "on"}}])",
         "e.json:1:53: \"on\" is a string; expected a boolean"},
        {R"([{"test": "a", "expect": "failed", "until": "soon"}])",
         "e.json:1:45: \"soon\": expected a date such as \"2027-01-31\""},
        {R"([{"test": "a", "expect": "failed", "until": "2027-02-29"}])",
         "e.json:1:45: \"2027-02-29\" is not a valid date: write the last day as"},
        {"[{\"test\": \"a\", \"expect\": \"failed\"},\n {\"test\": \"a\", \"expect\": \"passed\"}]",
         "e.json:2:2: duplicate entry: same test and conditions: remove one"},
        {"7", "e.json:1:1: 7 is a number; expected an object"},
    };
    for (const Row& row : table) {
        const auto refused = parse_expectations(row.text, "e.json");
        ASSERT_FALSE(refused) << row.text;
        EXPECT_EQ(refused.error().kind, ErrorKind::suite);
        EXPECT_NE(to_line(refused.error()).find(row.error), std::string::npos)
            << row.text << "\n"
            << to_line(refused.error()) << "\n"
            << row.error;
    }
}

TEST(ExpectationsFile, DiffersFromAnotherProgramsFile) {
    for (const char* ours :
         {"[]", R"([{"test": "a", "expect": "failed"}])", R"([{"test": "a", "expct": 1}])",
          "// Known.\n[{\"tests\": \"a\"}, {\"test\": \"b\"}]",
          R"({"format": 7, "expectations": []})"})
        EXPECT_TRUE(has_expectations(ours)) << ours;
    for (const char* not_ours :
         {"", "{", "7", "[1, 2]", "[[]]", R"([{"name": "a"}])", R"({"expectations": []})",
          R"({"format": 1})", R"({"expect_column_to_exist": {}})"})
        EXPECT_FALSE(has_expectations(not_ours)) << not_ours;
}

TEST(ExpectationsFile, AFileThatNobodyNamedMayBeAnotherOne) {
    const auto advised = [](const char* text) {
        return to_line(advise_to_name_another(parse_expectations(text, "e.json").error()));
    };
    EXPECT_EQ(advised("[1]"),
              "e.json:1:2: 1 is a number; expected an object: if this file is not the runner's, "
              "pass --expectations FILE");
    EXPECT_EQ(advised("").find("--expectations"), std::string::npos) << "it has its own advice";
}

Expectation one(std::string test, std::string state = "failed") {
    Expectation e;
    e.test = std::move(test);
    e.expect = {std::move(state)};
    return e;
}

TEST(ExpectationsFile, AnEntryIsWrittenAsItIsRead) {
    Expectation e = one("a \"b\" [é]");
    e.expect = {"failed", "errored"};
    e.when = {{"device", {"mps"}}, {"shim", {"off"}}, {"torch", {">=2"}}};
    e.reason = "why";
    e.issue = "https://example.org";
    e.until = "2027-01-31";
    EXPECT_EQ(entries_of("[" + text_of(e) + "]"), std::vector{e});
}

constexpr const char* kHandWritten = R"(// Ours.
{
  "format": 1,
  "expectations": [
    // About a.
    {
      "test":   "a",   "expect": "failed",
      "reason": "keep"
    }, // after a
    {"test": "c", "expect": ["failed", "errored"], "until": "2027-01-31"},
    {"test": "e", "expect": "failed"} // the last
  ]
}
)";

TEST(ExpectationsFile, AnEditLeavesAllElseByteForByte) {
    EXPECT_EQ(edited_expectations(kHandWritten, {}), kHandWritten);
    const auto replaced = [](std::string text, std::string_view what, std::string_view by) {
        const size_t at = text.find(what);
        EXPECT_NE(at, text.npos) << what;
        return text.replace(at, what.size(), by);
    };
    EXPECT_EQ(edited_expectations(kHandWritten, {{{1, {"crashed"}}}, {}, {}}),
              replaced(kHandWritten, R"(["failed", "errored"])", R"("crashed")"));
    EXPECT_EQ(edited_expectations(kHandWritten, {{}, {1}, {}}),
              replaced(kHandWritten,
                       "    {\"test\": \"c\", \"expect\": [\"failed\", \"errored\"], \"until\": "
                       "\"2027-01-31\"},\n",
                       ""));
    EXPECT_EQ(
        edited_expectations(kHandWritten, {{}, {2}, {}}),
        replaced(kHandWritten, ",\n    {\"test\": \"e\", \"expect\": \"failed\"} // the last", ""));
    EXPECT_EQ(edited_expectations(kHandWritten, {{}, {}, {one("b"), one("f")}}),
              replaced(replaced(kHandWritten, "// after a\n",
                                "// after a\n    {\"test\": \"b\", \"expect\": \"failed\"},\n"),
                       " // the last\n",
                       ", // the last\n    {\"test\": \"f\", \"expect\": \"failed\"}\n"));
}

TEST(ExpectationsFile, NewEntriesGoToTheEndOfAnUnsortedFile) {
    EXPECT_EQ(edited_expectations("[\n  {\"test\": \"z\", \"expect\": \"failed\"},\n"
                                  "  {\"test\": \"y\", \"expect\": \"failed\"}\n]\n",
                                  {{}, {}, {one("a")}}),
              "[\n  {\"test\": \"z\", \"expect\": \"failed\"},\n"
              "  {\"test\": \"y\", \"expect\": \"failed\"},\n"
              "  {\"test\": \"a\", \"expect\": \"failed\"}\n]\n");
}

TEST(ExpectationsFile, EveryEditedTextCanBeRead) {
    const std::vector<std::string> texts{
        "",
        "[]",
        "[\n]\n",
        kHandWritten,
        R"([{"test": "b", "expect": "failed"}])",
        R"([{"test": "b", "expect": "failed"}, {"test": "d", "expect": "failed"}])",
        "[ /* none */ ]",
        R"({"expectations": [], "format": 1})"};
    for (const std::string& text : texts) {
        const auto before = text.empty() ? std::vector<Expectation>{} : entries_of(text);
        for (unsigned removed = 0; removed < (1u << before.size()); ++removed)
            for (const size_t added : {0u, 1u, 3u}) {
                ExpectationEdits edits;
                std::vector<std::string> tests;
                for (size_t i = 0; i < before.size(); ++i)
                    if (removed & (1u << i))
                        edits.removed.push_back(i);
                    else
                        tests.push_back(before[i].test);
                for (const char* name : {"a1", "c1", "z1"})
                    if (edits.added.size() < added) {
                        edits.added.push_back(one(name));
                        tests.emplace_back(name);
                    }
                std::sort(tests.begin(), tests.end());
                std::vector<std::string> after;
                for (const auto& e : entries_of(edited_expectations(text, edits)))
                    after.push_back(e.test);
                EXPECT_EQ(after, tests) << edited_expectations(text, edits);
            }
    }
}

TEST(ExpectationsFile, ANewFileIsAsPeopleWriteIt) {
    EXPECT_EQ(edited_expectations("", {{}, {}, {one("a")}}),
              "{\n  \"format\": 1,\n  \"expectations\": [\n"
              "    {\"test\": \"a\", \"expect\": \"failed\"}\n  ]\n}\n");
}

}  // namespace
}  // namespace compat::suites
