// JUnit XML as the real tools write it (golden/regenerate_junit.sh), against what the same tools
// say of the same run in another way: their own objects, their JSON, their text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <re2/re2.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"
#include "tests/parsers/oracle_model.h"

namespace compat::parsers::junit_golden_test {
namespace {

using nlohmann::json;
using testing::golden_bytes;

// The one part of a file that nothing is to be said of.
ModuleRecord only_part(const std::string& file) {
    const std::string bytes = golden_bytes(file);
    EXPECT_EQ(recognise(signs_in(bytes)), Dialect::junit_xml) << file;
    testing::ImportedParts all =
        testing::imported_parts(Dialect::junit_xml, file.substr(file.find_last_of('/') + 1), bytes);
    EXPECT_THAT(all.diagnostics, ::testing::IsEmpty());
    EXPECT_EQ(all.parts.size(), 1u) << file;
    return all.parts.empty() ? ModuleRecord{} : all.parts.front();
}

const CaseRecord& case_of(const ModuleRecord& record, const std::string& id) {
    const auto it = std::find_if(record.cases.begin(), record.cases.end(),
                                 [&](const CaseRecord& c) { return c.id == id; });
    EXPECT_NE(it, record.cases.end()) << id;
    static const CaseRecord kNone;
    return it == record.cases.end() ? kNone : *it;
}

class PytestXml : public ::testing::TestWithParam<std::string> {};

// pytest does not write which failures are of sub-tests, that a test passed after a sub-test was
// skipped, that a pass was unexpected, or the folder in which it ran.
TEST_P(PytestXml, IsWhatPytestSays) {
    const std::string& folder = GetParam();
    json model = json::parse(golden_bytes(folder + "/model.json"));
    json cases;
    for (auto& [id, wanted] : model["cases"].items()) {
        json& to = wanted["failures"];
        to.insert(to.end(), wanted["subtests"].begin(), wanted["subtests"].end());
        wanted["subtests"] = json::array();
        if (wanted["state"] == "xpassed") wanted["state"] = "passed";
        cases[id] = wanted;
    }
    EXPECT_EQ(cases["test_subtests.py::Sub::test_some_skip"]["state"], "passed");
    cases["test_subtests.py::Sub::test_some_skip"]["state"] = "skipped";
    // One row for both modules that could not be collected.
    ASSERT_EQ(cases.erase("<module>"), 1u);

    for (const char* family : {"xunit1", "xunit2", "legacy"}) {
        SCOPED_TRACE(family);
        ModuleRecord record = only_part(folder + "/" + family + ".xml");
        EXPECT_EQ(record.framework, "pytest");
        EXPECT_EQ(record.path, "");
        EXPECT_TRUE(record.finished);
        const CaseRecord broken = case_of(record, "test_collect_error.py::<module>");
        EXPECT_EQ(broken.state, State::errored);
        EXPECT_EQ(broken.failure->first_line(),
                  "ModuleNotFoundError: No module named 'module_that_does_not_exist'");
        const CaseRecord skipped = case_of(record, "test_module_skip.py::<module>");
        EXPECT_EQ(skipped.state, State::skipped);
        EXPECT_EQ(skipped.reason, "not on this host");
        EXPECT_EQ(std::erase_if(record.cases, [](const CaseRecord& c) { return c.pseudo; }), 2u);
        EXPECT_EQ(static_cast<std::int64_t>(record.cases.size()), model["collected"]);
        for (CaseRecord& c : record.cases) {
            // The last outcome is read as the test's own.
            for (SubCase& sub : std::exchange(c.subcases, {})) {
                std::swap(*c.failure, *sub.failure);
                c.also.push_back(std::move(*sub.failure));
            }
            std::vector<Failure*> failures;
            if (c.failure) failures.push_back(&*c.failure);
            for (Failure& more : c.also) failures.push_back(&more);
            for (Failure* failure : failures)
                for (Frame& frame : failure->frames)
                    if (!frame.file.starts_with('/')) frame.file = "/suite/" + frame.file;
            EXPECT_EQ(c.name, c.id);
            EXPECT_TRUE(c.started);
        }
        testing::expect_model(record, {{"cases", cases}});
        ASSERT_EQ(record.diagnostics.size(), 1u);
        EXPECT_THAT(record.diagnostics[0].message,
                    ::testing::StartsWith("its totals count 9 more than it names"));
    }
}

// The line of a test is in the file from 0, and only in the older forms.
TEST_P(PytestXml, TellsWhereATestIs) {
    for (const char* family : {"xunit1", "xunit2", "legacy"}) {
        const ModuleRecord record = only_part(GetParam() + "/" + family + ".xml");
        const CaseRecord& test = case_of(record, "test_states.py::test_fail");
        const Location wanted =
            family == std::string("xunit2") ? Location{} : Location{"test_states.py", 16};
        EXPECT_EQ(test.location, wanted) << family;
    }
}

INSTANTIATE_TEST_SUITE_P(Versions, PytestXml,
                         ::testing::Values("junit-pytest-7.4.4"),
                         [](const auto& row) {
                             std::string name = row.param.substr(13);
                             std::replace(name.begin(), name.end(), '.', '_');
                             return name;
                         });

struct UnittestFile {
    std::string folder;
    std::string module;
};
std::ostream& operator<<(std::ostream& out, const UnittestFile& file) {
    return out << file.folder << " " << file.module;
}

class UnittestXml : public ::testing::TestWithParam<UnittestFile> {};

TEST_P(UnittestXml, IsWhatUnittestSays) {
    const auto& [folder, module] = GetParam();
    const ModuleRecord record = only_part(folder + "/" + module + ".xml");
    json model = json::parse(golden_bytes(folder + "/" + module + ".model.json"));
    // Its words hold the exception, and an address.
    for (auto& [id, wanted] : model["cases"].items()) {
        if (wanted["state"] != "xfailed") continue;
        EXPECT_THAT(case_of(record, id).reason, ::testing::StartsWith("expected failure: "));
        wanted["reason"] = nullptr;
    }
    // Passing sub-tests and a fixture's own class have no element.
    EXPECT_EQ(record.framework, "unittest");
    EXPECT_EQ(record.path, module + ".py");
    EXPECT_TRUE(record.finished);
    EXPECT_THAT(record.diagnostics, ::testing::IsEmpty());
    testing::expect_model(record, model);
}

TEST(UnittestXml, TellsWhereATestIs) {
    const ModuleRecord record = only_part("junit-unittest-3.13.0/test_states.xml");
    EXPECT_EQ(case_of(record, "test_states.py::Plain::test_error").location,
              (Location{"test_states.py", 23}));
    EXPECT_EQ(case_of(record, "test_states.py::Plain::test_error").name,
              "test_states.Plain.test_error");
}

TEST(UnittestXml, KeepsWhatAFailingTestPrinted) {
    const ModuleRecord record = only_part("junit-unittest-3.13.0/test_states.xml");
    EXPECT_THAT(case_of(record, "test_states.py::Noise::test_prints_status").failure->traceback,
                ::testing::EndsWith("\n--- Captured stderr ---\nok\n"));
}

// Python 3.9's own model leaves out what its text does; its file has the same tests as 3.13's.
TEST(UnittestXml, IsTheSameInPython39) {
    const ModuleRecord older = only_part("junit-unittest-3.9.18/test_states.xml");
    const ModuleRecord newer = only_part("junit-unittest-3.13.0/test_states.xml");
    ASSERT_EQ(older.cases.size(), newer.cases.size());
    for (const CaseRecord& c : older.cases) {
        const CaseRecord& same = case_of(newer, c.id);
        EXPECT_EQ(c.state, same.state) << c.id;
        EXPECT_EQ(c.call_state, same.call_state) << c.id;
        EXPECT_EQ(c.also.size(), same.also.size()) << c.id;
        ASSERT_EQ(c.subcases.size(), same.subcases.size()) << c.id;
        for (size_t i = 0; i < c.subcases.size(); ++i)
            EXPECT_EQ(c.subcases[i].label, same.subcases[i].label);
    }
}

std::vector<UnittestFile> unittest_files() {
    std::vector<UnittestFile> all;
    for (const char* module : {"test_states", "test_module_fixture", "test_module_fixture_skips",
                               "test_broken_import", "test_all_skipped"})
        all.push_back({"junit-unittest-3.13.0", module});
    return all;
}

INSTANTIATE_TEST_SUITE_P(Versions, UnittestXml, ::testing::ValuesIn(unittest_files()),
                         [](const auto& row) {
                             std::string name =
                                 row.param.folder.substr(15) + "_" + row.param.module;
                             std::replace(name.begin(), name.end(), '.', '_');
                             return name;
                         });

// Its JSON of the same run has everything but the reasons of skips.
TEST(GoogleTestXml, IsWhatItsJsonSays) {
    const ModuleRecord record = only_part("junit-googletest/states.xml");
    // GoogleTest 1.12 forgets a comma before what failed outside of any test.
    std::string text = golden_bytes("junit-googletest/states.json");
    RE2::Replace(&text, R"(\}    \{)", "},\n    {");
    const json said = json::parse(text);
    EXPECT_EQ(record.framework, "gtest");
    EXPECT_EQ(record.path, "states");
    size_t tests = 0;
    for (const json& suite : said["testsuites"])
        for (const json& test : suite["testsuite"]) {
            ++tests;
            const std::string name = test["name"];
            const CaseRecord& c = case_of(
                record, name.empty() ? "states::<Environment>"
                                     : "states::" + std::string(suite["name"]) + "::" + name);
            SCOPED_TRACE(c.id);
            const json failures = test.value("failures", json::array());
            const State bad = c.pseudo ? State::errored : State::failed;
            const bool skipped = test["result"] != "COMPLETED";
            EXPECT_EQ(c.state, !failures.empty() ? bad : skipped ? State::skipped : State::passed);
            EXPECT_EQ(c.started, test["status"] == "RUN" && !c.pseudo);
            if (c.pseudo) continue;
            EXPECT_EQ(c.location, (Location{test["file"], test["line"]}));
            ASSERT_EQ((c.failure ? 1 : 0) + c.also.size(), failures.size());
            for (size_t i = 0; i < failures.size(); ++i) {
                const Failure& failure = i == 0 ? *c.failure : c.also[i - 1];
                std::string words = failures[i]["failure"];
                const std::string place = words.substr(0, words.find('\n'));
                words.replace(0, place.size(), place + ": Failure");
                // The XML leaves control characters out and has bytes as they are.
                std::erase(words, '\x1b');
                RE2::GlobalReplace(&words, "ÿ", "\uFFFD");
                EXPECT_EQ(failure.traceback, words);
                const bool known = place != "unknown file";
                ASSERT_EQ(failure.frames.size(), known ? 1u : 0u);
                if (known) {
                    EXPECT_EQ(failure.frames[0].file + ":" + std::to_string(failure.frames[0].line),
                              place);
                }
            }
        }
    EXPECT_EQ(tests, record.cases.size());
    EXPECT_EQ(case_of(record, "states::States::Skip").reason, "not today");
    EXPECT_EQ(case_of(record, "states::States::DISABLED_Off").reason, "DISABLED_");
}

// CTest's words for the same tests in its text.
TEST(CTestXml, IsWhatItPrints) {
    const ModuleRecord record = only_part("junit-ctest/states.xml");
    EXPECT_EQ(record.framework, "ctest");
    EXPECT_EQ(record.path, "states");
    const std::string text = golden_bytes("junit-ctest/states.txt");
    re2::StringPiece rest(text);
    const RE2 result(
        R"(Test +#\d+: (.*?) \.+([^.*\n]*)(\*\*\*)?([^\n]*?) +\d+\.\d+ sec|Test +#\d+: (wrong_text))");
    static const std::map<std::string, State> kStates{{"Skipped", State::skipped},
                                                      {"Not Run (Disabled)", State::skipped},
                                                      {"Not Run", State::errored}};
    size_t tests = 0;
    std::string name, before, stars, word, of_two_lines;
    while (RE2::FindAndConsume(&rest, result, &name, &before, &stars, &word, &of_two_lines)) {
        ++tests;
        if (!of_two_lines.empty()) name = of_two_lines;
        const auto known = kStates.find(word);
        const bool passed = word.empty() && before.find("Passed") != std::string::npos;
        const State wanted = known != kStates.end() ? known->second
                             : passed               ? State::passed
                                                    : State::failed;
        EXPECT_EQ(case_of(record, "states::" + name).state, wanted) << name << " " << word;
    }
    EXPECT_EQ(tests, record.cases.size());
    EXPECT_EQ(case_of(record, "states::needs_setup").failure->message,
              "Failed test dependencies: setup");
    EXPECT_EQ(case_of(record, "states::times_out").failure->first_line(), "");
    EXPECT_EQ(case_of(record, "states::skips_by_code").reason, "no device");
    EXPECT_EQ(case_of(record, "states::disabled").reason, "DISABLED");
}

// Maven's own count of the tests, each once, where the file's totals count each attempt.
TEST(SurefireXml, IsWhatMavenPrints) {
    const ModuleRecord record = only_part("junit-surefire/states.xml");
    EXPECT_EQ(record.framework, "junit");
    EXPECT_EQ(record.path, "com.example.StatesTest");
    const std::string text = golden_bytes("junit-surefire/states.txt");
    std::int64_t run, failures, errors, skipped, flakes;
    ASSERT_TRUE(RE2::PartialMatch(
        text, R"(Tests run: (\d+), Failures: (\d+), Errors: (\d+), Skipped: (\d+), Flakes: (\d+))",
        &run, &failures, &errors, &skipped, &flakes));
    const auto count = [&](State state) {
        return std::count_if(record.cases.begin(), record.cases.end(),
                             [&](const CaseRecord& c) { return c.state == state; });
    };
    EXPECT_EQ(static_cast<std::int64_t>(record.cases.size()), run);
    EXPECT_EQ(count(State::failed), failures);
    EXPECT_EQ(count(State::errored), errors);
    EXPECT_EQ(count(State::skipped), skipped);
    EXPECT_EQ(std::count_if(record.cases.begin(), record.cases.end(),
                            [](const CaseRecord& c) {
                                return c.state == State::passed && !c.earlier.empty();
                            }),
              flakes);
    const CaseRecord& breaks = case_of(record, "com.example.StatesTest::breaks");
    EXPECT_EQ(breaks.name, "com.example.StatesTest.breaks");
    EXPECT_EQ(breaks.failure->type, "java.lang.IllegalStateException");
    EXPECT_EQ(breaks.failure->message, "bad state\nsecond line");
    EXPECT_EQ(breaks.earlier.size(), 2u);
    EXPECT_EQ(case_of(record, "com.example.StatesTest::ignored").reason, "not today");
}

}  // namespace
}  // namespace compat::parsers::junit_golden_test
