// <attempt>.hub.jsonl, well-formed and of a hostile test, and what it means for an attempt's tests.
#include "parsers/hub_uses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"

namespace compat::parsers::hub_uses_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::string line(const std::string& test, const std::string& name, bool generated = true) {
    const bool address = name.find("://") != name.npos;
    return R"({"test": )" + (test.empty() ? "null" : '"' + test + '"') + ", \"" +
           (address ? "address" : "repository") + "\": \"" + name + R"(", "generated": )" +
           (generated ? "true" : "false") + "}\n";
}

std::vector<CaseRecord> tests_in(std::initializer_list<std::pair<const char*, State>> states) {
    std::vector<CaseRecord> cases;
    for (const auto& [id, state] : states) {
        cases.emplace_back().id = id;
        cases.back().state = state;
    }
    return cases;
}

std::vector<CaseRecord> with_uses(const std::string& text, std::vector<CaseRecord> cases) {
    const HubUses uses = HubUses::parse(text);
    uses.add_to(cases);
    return cases;
}

TEST(HubUses, AreThoseOfATestAndOfNoTest) {
    const std::string text =
        "{\"format\": 1}\n" + line("a::T::x", "models/org/b") + line("a::T::x", "models/org/a") +
        line("a::T::x", "models/org/a") + line("a::T::x", "models/org/real", false) +
        line("a::T::skipped", "https://example.org/a.png") + line("", "datasets/org/d");
    const auto cases = with_uses(text, tests_in({{"a::T::x", State::failed},
                                                 {"a::T::y", State::passed},
                                                 {"a::T::skipped", State::skipped},
                                                 {"a::T::never", State::not_run}}));
    EXPECT_THAT(cases[0].generated.names,
                ElementsAre("datasets/org/d", "models/org/a", "models/org/b"));
    EXPECT_EQ(cases[0].generated.count, 3);
    EXPECT_THAT(cases[1].generated.names, ElementsAre("datasets/org/d")) << "any test that ran";
    EXPECT_THAT(cases[2].generated.names, ElementsAre("https://example.org/a.png"));
    EXPECT_FALSE(cases[3].generated.any());
}

TEST(HubUses, AreApartFromWhatTheHubLacked) {
    const std::string lacks = R"({"test": "t", "repository": "models/org/none", "generated": false,)"
                              R"( "missing": true})"
                              "\n";
    const std::string outside =
        R"({"test": null, "address": "https://h/x", "generated": false, "missing": true})"
        "\n";
    const auto cases =
        with_uses(line("t", "models/org/a") + lacks + lacks + outside,
                  tests_in({{"t", State::errored}, {"u", State::passed}, {"v", State::skipped}}));
    EXPECT_THAT(cases[0].generated.names, ElementsAre("models/org/a"));
    EXPECT_THAT(cases[0].missing.names, ElementsAre("https://h/x", "models/org/none"));
    EXPECT_EQ(cases[0].missing.count, 2);
    EXPECT_THAT(cases[1].missing.names, ElementsAre("https://h/x"));
    EXPECT_FALSE(cases[1].generated.any());
    EXPECT_FALSE(cases[2].missing.any());
}

TEST(HubUses, AreBounded) {
    std::string text;
    for (int i = 0; i < 50; ++i) text += line("t", "models/org/" + std::to_string(100 + i));
    text += line("u", "models/" + std::string(5000, 'x'));
    const auto cases = with_uses(text, tests_in({{"t", State::passed}, {"u", State::passed}}));
    EXPECT_EQ(cases[0].generated.count, 50);
    ASSERT_EQ(cases[0].generated.names.size(), kMostHubNames);
    EXPECT_EQ(cases[0].generated.names.front(), "models/org/100");
    EXPECT_LE(cases[1].generated.names.at(0).size(), 300u);

    std::string flood;
    for (int i = 0; i < 210'000; ++i) flood += line(std::to_string(i), "m");
    const HubUses uses = HubUses::parse(flood);
    ASSERT_EQ(uses.diagnostics().size(), 1u);
    EXPECT_EQ(uses.diagnostics()[0].file, "hub");
}

TEST(HubUses, OfBrokenLinesAreDiagnosed) {
    const std::string text = "not JSON\n[]\n{}\n" +
                             std::string(R"({"test": 3, "repository": [1],)") +
                             R"( "generated": "yes"})" + "\n\n" + line("t", "models/a") +
                             R"({"test": "t", "repository": "models/b", "generated": 1})"
                             "\n"
                             R"({"test": "t", "reposi)";
    const HubUses uses = HubUses::parse(text);
    EXPECT_EQ(uses.diagnostics().size(), 5u);
    auto cases = tests_in({{"t", State::passed}});
    uses.add_to(cases);
    EXPECT_THAT(cases[0].generated.names, ElementsAre("models/a")) << "only true is generated";
}

TEST(HubUses, OfANewerFormatAreRefused) {
    const HubUses uses = HubUses::parse("{\"format\": 2}\n" + line("t", "models/a"));
    EXPECT_EQ(uses.diagnostics().size(), 1u);
    auto cases = tests_in({{"t", State::passed}});
    uses.add_to(cases);
    EXPECT_FALSE(cases[0].generated.any());
}

TEST(HubUses, AreReadBeforeTheDiagnosis) {
    ModuleRecord record;
    record.cases = tests_in({{"a", State::failed}, {"b", State::failed}, {"c", State::errored}});
    for (CaseRecord& test : record.cases) {
        test.failure.emplace();
        test.failure->type = "AssertionError";
        test.failure->message = "1.5 != 2.5 within 3 places (1.0 difference)";
    }
    record.cases[2].failure->type = "NotImplementedError";
    record.cases[2].failure->message =
        "The operator 'aten::linalg_eig' is not currently implemented for the MPS device.";
    const std::string text = line("a", "models/org/a") + line("c", "models/org/a");
    HubUses::parse(text).add_to(record.cases);
    diagnose(record);
    EXPECT_EQ(record.cases[0].failure->diagnosis->cause, Cause::hub);
    EXPECT_EQ(record.cases[0].failure->diagnosis->error_class, std::nullopt);
    EXPECT_NE(record.cases[1].failure->diagnosis->cause, Cause::hub) << "nothing generated";
    EXPECT_EQ(record.cases[2].failure->diagnosis->cause, Cause::op_missing);
    EXPECT_THAT(record.cases[1].generated.names, IsEmpty());
}

TEST(HubUses, StandInAnAttemptsRecord) {
    const std::string uses = line("", "models/org/a") + "garbage\n";
    AttemptFiles files{"", "", ""};
    files.hub = uses;
    const ModuleRecord record =
        read_attempt(files, "unittest", "a", {.kind = ProcessEnd::Kind::exited, .code = 0});
    EXPECT_TRUE(std::ranges::any_of(record.diagnostics,
                                    [](const auto& said) { return said.file == "hub"; }));
}

}  // namespace
}  // namespace compat::parsers::hub_uses_test
