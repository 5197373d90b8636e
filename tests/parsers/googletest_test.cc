// Compares the output of GoogleTest binaries with the JSON that the same runs wrote
// (golden/regenerate_gtest.sh): the whole model, not samples of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "parsers/import/json_document.h"
#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"

namespace compat::parsers::googletest_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using testing::Golden;
using testing::imported_parts;

std::vector<ModuleRecord> text_parts(const std::string& log, const std::string& name = "bin.log") {
    return imported_parts(Dialect::googletest_text, name, log).parts;
}

std::vector<Golden> with_json() {
    std::vector<Golden> all;
    for (Golden& golden : testing::goldens("gtest"))
        if (golden.has(".json")) all.push_back(std::move(golden));
    return all;
}

json json_of(const std::string& bytes) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    return read_json(bytes, diagnose);
}

bool is_kind(const Golden& golden, std::string_view word) {
    return golden.stem.filename().string().find(word) != std::string::npos;
}

// The binary's own record of a test: its state and each failure's place and words.
struct Wanted {
    std::string state;
    std::vector<std::string> failures;
};

std::string one_line(const std::string& text) {
    std::string out;
    for (Lines lines(text); lines.next();) {
        const std::string_view line = trimmed(lines.line());
        if (!line.empty()) out.append(out.empty() ? "" : " ").append(line);
    }
    return out;
}

// In a run that a global set-up skipped: "passed" by the JSON.
bool never_began(const json& test) {
    return test.at("timestamp").get<std::string>().starts_with("1970-");
}

std::map<std::string, Wanted> model_of(const json& document) {
    std::map<std::string, Wanted> model;
    for (const json& suite : document.at("testsuites"))
        for (const json& test : suite.at("testsuite")) {
            if (test.at("name") == "") continue;  // of no test
            Wanted& wanted = model[suite.at("name").get<std::string>() + "." +
                                   test.at("name").get<std::string>()];
            wanted.state = test.at("status") == "NOTRUN"    ? "skipped"
                           : test.contains("failures")      ? "failed"
                           : test.at("result") == "SKIPPED" ? "skipped"
                           : never_began(test)              ? "skipped"
                                                            : "passed";
            for (const json& failure : test.value("failures", json::array()))
                wanted.failures.push_back(one_line(failure.at("failure")));
        }
    return model;
}

Wanted found(const CaseRecord& test) {
    Wanted out{std::string(name_of(test.state)), {}};
    std::vector<Failure> all;
    if (test.failure) all.push_back(*test.failure);
    all.insert(all.end(), test.also.begin(), test.also.end());
    for (const Failure& failure : all) {
        EXPECT_EQ(failure.type, "Failure");
        const std::string place =
            failure.frames.empty()
                ? "unknown file"
                : fmt::format("{}:{}", failure.frames[0].file, failure.frames[0].line);
        out.failures.push_back(place + " " + failure.message);
    }
    return out;
}

void expect_model(const ModuleRecord& record, std::map<std::string, Wanted> model) {
    for (const CaseRecord& test : record.cases) {
        if (test.pseudo) continue;
        const auto it = model.find(test.name);
        ASSERT_NE(it, model.end()) << test.name;
        const Wanted ours = found(test);
        EXPECT_EQ(ours.state, it->second.state) << test.name;
        EXPECT_EQ(ours.failures, it->second.failures) << test.name;
        std::string id = test.name;
        EXPECT_EQ(test.id, record.path + "::" + id.replace(id.find('.'), 1, "::"));
        model.erase(it);
    }
    for (const auto& [name, wanted] : model) ADD_FAILURE() << name << " is not in the record";
}

class GoogletestGolden : public ::testing::TestWithParam<Golden> {};

TEST_P(GoogletestGolden, TextIsWhatTheBinarySays) {
    const Golden& golden = GetParam();
    const std::string log = golden.read(".log");
    EXPECT_EQ(recognise(signs_in(log)), Dialect::googletest_text);
    const auto parts = text_parts(log);
    const int iterations = is_kind(golden, "repeat") ? 2 : 1;
    ASSERT_EQ(parts.size(), static_cast<size_t>(iterations));
    const auto model = model_of(json_of(golden.read(".json")));
    for (const ModuleRecord& part : parts) {
        EXPECT_EQ(part.path, "bin");
        EXPECT_EQ(part.framework, "gtest");
        EXPECT_TRUE(part.finished);
        EXPECT_TRUE(analysis::account(part).closed());
        if (is_kind(golden, "skipping")) {
            // Tests that a global set-up skips have no line.
            ASSERT_EQ(part.cases.size(), 1u);
            EXPECT_EQ(part.cases[0].reason, "2 skipped, unnamed");
        } else {
            expect_model(part, model);
            EXPECT_THAT(part.diagnostics, ElementsAre());
        }
    }
}

// As GitHub keeps a log, and a terminal.
TEST_P(GoogletestGolden, WhatWasPutAroundTheLinesChangesNothing) {
    const std::string log = GetParam().read(".log");
    const auto plain = text_parts(log);
    std::string wrapped = "\xEF\xBB\xBF";
    for (Lines lines(log); lines.next();)
        wrapped.append("2024-05-01T12:34:56.1234567Z ").append(lines.line()).append("\r\n");
    EXPECT_EQ(recognise(signs_in(wrapped)), Dialect::googletest_text);
    const auto parts = text_parts(wrapped);
    ASSERT_EQ(parts.size(), plain.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i].cases, plain[i].cases);
        EXPECT_EQ(parts[i].closing, plain[i].closing);
        ASSERT_EQ(parts[i].diagnostics.size(), plain[i].diagnostics.size());
        // Offsets are of the file as it is.
        for (size_t n = 0; n < parts[i].diagnostics.size(); ++n) {
            const Diagnostic& ours = parts[i].diagnostics[n];
            EXPECT_EQ(ours.message, plain[i].diagnostics[n].message);
            const auto lines_to = [](const std::string& text, std::int64_t end) {
                return std::count(text.begin(), text.begin() + end, '\n');
            };
            EXPECT_EQ(lines_to(wrapped, ours.offset),
                      lines_to(log, plain[i].diagnostics[n].offset));
        }
    }
}

TEST_P(GoogletestGolden, JsonIsWhatTheBinarySays) {
    const Golden& golden = GetParam();
    const std::string bytes = golden.read(".json");
    EXPECT_EQ(recognise(signs_in(bytes)), Dialect::googletest_json);
    const auto all = imported_parts(Dialect::googletest_json, "out/bin.json", bytes);
    ASSERT_EQ(all.parts.size(), 1u);
    const ModuleRecord& part = all.parts[0];
    EXPECT_EQ(part.path, "out/bin");
    EXPECT_TRUE(part.finished);
    // Its suites' failures are in the JSON since 1.16: before, a suite whose tests never began is a
    // doubt.
    const bool doubtful = is_kind(golden, "states") && golden.version == "1.12.1" &&
                          bytes.find("BrokenSetUp") != bytes.npos;
    EXPECT_EQ(analysis::account(part).closed(), !doubtful);
    ASSERT_EQ(part.diagnostics.size(), doubtful ? 1u : 0u);
    if (doubtful) {
        EXPECT_EQ(
            part.diagnostics[0].message,
            "ambiguous: 2 tests of BrokenSetUp never began: SetUpTestSuite failed or skipped, "
            "and this file does not say which; import the binary's log as well");
    }
    const json document = json_of(bytes);
    expect_model(part, model_of(document));
    for (const CaseRecord& test : part.cases) {
        if (test.pseudo) continue;
        EXPECT_GT(test.location.line, 0);
    }
}

// Where both tell it, they tell the same: what failed outside of tests, and why tests were skipped.
TEST_P(GoogletestGolden, TextAndJsonAgree) {
    const Golden& golden = GetParam();
    if (is_kind(golden, "skipping")) return;
    // A global fixture speaks in one of the iterations alone.
    const std::vector<ModuleRecord> iterations = text_parts(golden.read(".log"));
    const ModuleRecord other =
        imported_parts(Dialect::googletest_json, "bin.json", golden.read(".json")).parts.at(0);
    std::map<std::string, const CaseRecord*> rows;
    for (const ModuleRecord& text : iterations)
        for (const CaseRecord& test : text.cases) rows.emplace(test.id, &test);
    for (const CaseRecord& test : other.cases) {
        const auto it = rows.find(test.id);
        ASSERT_NE(it, rows.end()) << test.id;
        if (test.pseudo) {
            EXPECT_EQ(found(*it->second).failures, found(test).failures) << test.id;
        }
        if (!test.reason.empty()) {
            EXPECT_EQ(it->second->reason, test.reason) << test.id;
        }
        EXPECT_EQ(it->second->started, test.started) << test.id;
    }
}

INSTANTIATE_TEST_SUITE_P(Real, GoogletestGolden, ::testing::ValuesIn(with_json()),
                         testing::golden_name);

std::string golden_log(std::string_view name) {
    for (const Golden& golden : testing::goldens("gtest"))
        if (golden.stem.filename() == name) return golden.read(".log");
    return {};
}

std::vector<std::pair<std::string, State>> states_of(const ModuleRecord& part) {
    std::vector<std::pair<std::string, State>> states;
    for (const CaseRecord& test : part.cases) states.emplace_back(test.id, test.state);
    return states;
}

TEST(GoogletestText, ALogThatBreaksOffInATest) {
    const std::string log = golden_log("crashes");
    const auto parts = text_parts(log);
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].outcome, ModuleOutcome::interrupted);
    EXPECT_FALSE(parts[0].finished);
    EXPECT_EQ(parts[0].collected, 3);
    EXPECT_THAT(states_of(parts[0]),
                ElementsAre(std::pair("bin::Crashes::Before", State::passed),
                            std::pair("bin::Crashes::Aborts", State::not_run),
                            std::pair("bin::<unnamed not run>", State::not_run)));
    // The accounting shows that it breaks off.
    EXPECT_FALSE(analysis::account(parts[0]).closed());
}

// Whether or not it names a test before.
TEST(GoogletestText, ALogThatBreaksOffIsNeverClosed) {
    const std::string log = golden_log("states");
    const size_t first = log.find("[ RUN      ] ");
    ASSERT_NE(first, std::string::npos);
    for (const std::string& text :
         {log.substr(0, first), std::string("[==========] Running 0 tests from 0 test suites.\n"),
          std::string("[----------] Global test environment tear-down\n"),
          "[==========] Running 0 tests from 0 test suites.\n[----------] 1 test from A\n"
          "a.cc:1: Failure\nx\n" +
              std::string("[----------] 1 test from B\n")}) {
        const auto parts = text_parts(text);
        ASSERT_EQ(parts.size(), 1u) << text;
        EXPECT_FALSE(analysis::account(parts[0]).closed()) << text;
    }
}

// It has the tests' own text with a number before each line, or that of tests that failed alone.
TEST(GoogletestText, WhatCtestPrintsIsNone) {
    const std::string log = golden_log("states");
    std::string verbose =
        "Constructing a list of tests\ntest 1\n    Start 1: states\n\n"
        "1: Test command: /build/states\n1: Working Directory: /build\n";
    for (Lines lines(log); lines.next();) verbose.append("1: ").append(lines.line()) += '\n';
    EXPECT_EQ(recognise(signs_in(verbose)), std::nullopt);
    EXPECT_EQ(recognise(signs_in(verbose.substr(verbose.find("1: Running main")))), std::nullopt);
    EXPECT_EQ(recognise(signs_in("    Start 1: states\n" + log)), std::nullopt);
    EXPECT_EQ(recognise(signs_in("1/2 Test #1: states ...........***Failed    0.01 sec\n" + log)),
              std::nullopt);
    const std::string real = testing::golden_bytes("junit-ctest/states.txt");
    ASSERT_FALSE(real.empty());
    EXPECT_EQ(recognise(signs_in(real)), std::nullopt);
    // The output of a binary's test belongs to that binary.
    EXPECT_EQ(recognise(signs_in(log + "    Start 1: states\n")), Dialect::googletest_text);
}

TEST(GoogletestText, ACrashThatAShellNames) {
    const auto parts = text_parts(golden_log("crashes") + "Aborted (core dumped)\n");
    ASSERT_EQ(parts.size(), 1u);
    EXPECT_EQ(parts[0].outcome, ModuleOutcome::crashed);
    EXPECT_EQ(parts[0].cases[1].state, State::crashed);
    EXPECT_EQ(parts[0].cases[1].reason, "SIGABRT");
    EXPECT_EQ(parts[0].cases[2].state, State::not_run);
}

TEST(GoogletestText, SeveralBinariesInOneLog) {
    const std::vector<std::string> names{"states", "crashes", "passes", "environment", "states"};
    std::string log;
    for (const std::string& name : names) log += golden_log(name);
    const auto parts = text_parts(log);
    ASSERT_EQ(parts.size(), names.size());
    for (size_t i = 0; i < parts.size(); ++i) {
        EXPECT_EQ(parts[i].path, i == 0 ? "bin" : fmt::format("bin#{}", i + 1));
        const ModuleRecord alone = text_parts(golden_log(names[i])).at(0);
        EXPECT_EQ(parts[i].cases.size(), alone.cases.size());
        EXPECT_EQ(parts[i].closing, alone.closing);
        // More follows what did not end: it crashed.
        EXPECT_EQ(parts[i].outcome, names[i] == "crashes" ? ModuleOutcome::crashed : alone.outcome);
        for (size_t n = 0; n < parts[i].cases.size() && names[i] != "crashes"; ++n)
            EXPECT_EQ(parts[i].cases[n].state, alone.cases[n].state);
    }
    EXPECT_EQ(parts[1].cases[1].state, State::crashed);
}

TEST(GoogletestText, ABinaryThatIsRunAgainAfterACrash) {
    const auto parts = text_parts(golden_log("crashes") + golden_log("crashes"));
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0].cases[1].state, State::crashed);
    EXPECT_EQ(parts[1].cases[1].state, State::not_run);
}

TEST(GoogletestText, TotalsThatDoNotAddUp) {
    std::string log = golden_log("passes");
    const size_t at = log.find("[  PASSED  ] 2");
    ASSERT_NE(at, std::string::npos);
    const ModuleRecord fewer = text_parts(std::string(log).replace(at + 13, 1, "1")).at(0);
    EXPECT_FALSE(analysis::account(fewer).closed());
    // One more than have names is in the row without one.
    const ModuleRecord more = text_parts(std::string(log).replace(at + 13, 1, "3")).at(0);
    EXPECT_EQ(more.cases.back().id, "bin::<unnamed passed>");
    EXPECT_EQ(more.cases.back().reason, "1 passed, unnamed");
}

TEST(GoogletestText, ACountBeyondReasonIsARow) {
    const ModuleRecord part =
        text_parts("[==========] Running 9000000000000000000 tests from 1 test suite.\n").at(0);
    EXPECT_LE(part.cases.size(), 2u);
    EXPECT_FALSE(analysis::account(part).closed());
}

// In sums that a number could not hold, either.
TEST(GoogletestText, CountsAsGreatAsANumber) {
    const std::string most = "9223372036854775807";
    const ModuleRecord part =
        text_parts("[==========] Running " + most +
                   " tests from 1 test suite.\n[ RUN      ] A.b\n"
                   "[       OK ] A.b (0 ms)\n[==========] " +
                   most + " tests from 1 test suite ran. (1 ms total)\n" + "[  PASSED  ] " + most +
                   " tests.\n[  SKIPPED ] " + most + " tests, listed below:\n[  FAILED  ] " + most +
                   " tests, listed below:\n  YOU HAVE " + most + " DISABLED TESTS\n")
            .at(0);
    ASSERT_EQ(part.cases.size(), 4u);
    for (const State state : {State::passed, State::failed})
        EXPECT_EQ(analysis::account(part).states[state], 1'000'000'000'000) << name_of(state);
}

// A test may be called as a repeated one would be.
const std::vector<std::pair<std::string, State>> kRepeated{
    {"bin::A::b#2", State::passed}, {"bin::A::b", State::passed}, {"bin::A::b#3", State::failed}};

TEST(GoogletestText, IdsAreOfOneTestEach) {
    const ModuleRecord part = text_parts(
                                  "[ RUN      ] A.b#2\n[       OK ] A.b#2 (0 ms)\n"
                                  "[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n"
                                  "[ RUN      ] A.b\n[  FAILED  ] A.b (0 ms)\n")
                                  .at(0);
    EXPECT_EQ(states_of(part), kRepeated);
}

TEST(GoogletestJson, IdsAreOfOneTestEach) {
    const ModuleRecord part =
        imported_parts(
            Dialect::googletest_json, "bin.json",
            R"({"tests":3,"failures":1,"disabled":0,"testsuites":[{"name":"A","testsuite":[
                      {"name":"b#2","status":"RUN","result":"COMPLETED"},
                      {"name":"b","status":"RUN","result":"COMPLETED"},
                      {"name":"b","status":"RUN","failures":[{"failure":"a.cc:1\nx"}]}]}]})")
            .parts.at(0);
    EXPECT_EQ(states_of(part), kRepeated);
}

TEST(GoogletestText, MicrosoftsFormOfAPlace) {
    const ModuleRecord part =
        text_parts(
            "[ RUN      ] A.B\r\nd:\\src\\a.cc(12): error: Value of: false\r\n  Actual: false\r\n"
            "[  FAILED  ] A.B (3 ms)\r\n")
            .at(0);
    ASSERT_TRUE(part.cases.at(0).failure);
    EXPECT_EQ(part.cases[0].failure->frames.at(0).file, "d:\\src\\a.cc");
    EXPECT_EQ(part.cases[0].failure->frames[0].line, 12);
    EXPECT_EQ(part.cases[0].failure->message, "Value of: false Actual: false");
}

TEST(GoogletestJson, OfAFileThatIsCutOffNothingIsReadAndItIsSaidWhere) {
    for (const Golden& golden : with_json()) {
        const std::string half = golden.read(".json").substr(0, golden.read(".json").size() / 2);
        const auto all = imported_parts(Dialect::googletest_json, "bin.json", half);
        EXPECT_TRUE(all.parts.empty());
        ASSERT_EQ(all.diagnostics.size(), 1u);
        EXPECT_THAT(all.diagnostics[0].message,
                    ::testing::HasSubstr("cannot be read from here on"));
        EXPECT_GE(all.diagnostics[0].offset, static_cast<std::int64_t>(half.size()) - 10);
    }
}

TEST(GoogletestJson, WrongTypesAndRepeatsAreNoLoss) {
    const ModuleRecord part =
        imported_parts(Dialect::googletest_json, "bin.json",
                       R"({"tests":4,"failures":"x","testsuites":[7,{"name":"S","testsuite":[
                      {"name":"a","status":"RUN","result":"COMPLETED","line":99999999999,"time":5},
                      {"name":"a","status":"RUN","result":"COMPLETED","failures":[1,{"failure":2}]},
                      {"name":"\ud800","status":[]}, null]}]})")
            .parts.at(0);
    EXPECT_THAT(states_of(part), ElementsAre(std::pair("bin::S::a", State::passed),
                                             std::pair("bin::S::a#2", State::failed),
                                             std::pair("bin::S::\uFFFD", State::not_run)));
    EXPECT_FALSE(analysis::account(part).closed());
}

}  // namespace
}  // namespace compat::parsers::googletest_test
