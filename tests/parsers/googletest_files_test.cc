// GoogleTest's XML and JSON: the traces of what they leave out, and the log of the same run beside
// them.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "parsers/import/gtest/log_and_file.h"
#include "parsers/text.h"
#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"

namespace compat::parsers::googletest_files_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::Golden;
using testing::imported_parts;
using States = std::map<std::string, State>;

// A test that ended, in a file of 2026.
struct Element {
    std::string_view suite, name;
    std::string_view result = "completed";
    std::string_view start = "2026-01-02T03:04:05.678";
    std::string_view inner = "";
};

std::string xml_of(const std::vector<Element>& elements,
                   std::string_view root = "2026-01-02T03:04:05.678", bool states_skips = true) {
    std::string suites;
    for (const Element& e : elements)
        suites += fmt::format(
            "<testsuite name='{0}' {5}><testcase name='{1}' status='run' result='{2}' "
            "timestamp='{3}' classname='{0}'>{4}</testcase></testsuite>",
            e.suite, e.name, e.result, e.start, e.inner,
            states_skips ? fmt::format("skipped='{}'", e.result == "skipped" ? 1 : 0) : "");
    return fmt::format("<testsuites tests='{}' timestamp='{}' name='AllTests'>{}</testsuites>",
                       elements.size(), root, suites);
}

ModuleRecord read_xml(const std::string& bytes, std::string_view name = "bin.xml") {
    return imported_parts(Dialect::junit_xml, name, bytes).parts.at(0);
}

std::vector<std::string> doubts(const ModuleRecord& record) {
    std::vector<std::string> all;
    for (const Diagnostic& said : record.diagnostics)
        if (said.message.starts_with(kAmbiguous)) all.push_back(said.message);
    return all;
}

constexpr std::string_view kNever = "1970-01-01T00:00:00.000";
constexpr std::string_view kSkipped = "<skipped message='a.cc:1&#x0A;'/>";

TEST(GoogletestXml, ATestThatNeverBeganIsADoubt) {
    const auto file = read_xml(xml_of({{"Broken", "One", "skipped", kNever, kSkipped}}));
    EXPECT_EQ(file.cases.at(0).state, State::skipped);
    EXPECT_THAT(doubts(file),
                ElementsAre("ambiguous: 1 test of Broken never began: SetUpTestSuite failed or "
                            "skipped, and this file does not say which; import the binary's log "
                            "as well"));
    EXPECT_FALSE(analysis::account(file).closed());
    // West of Greenwich.
    EXPECT_EQ(doubts(read_xml(xml_of({{"Broken", "One", "skipped", "1969-12-31T19:00:00.000",
                                       kSkipped}})))
                  .size(),
              1u);
}

TEST(GoogletestXml, ATestThatSkipsInItsBodyIsNone) {
    EXPECT_THAT(doubts(read_xml(xml_of({{"Good", "One", "skipped", "2026-01-02T03:04:05.678",
                                         kSkipped}}))),
                IsEmpty());
    // Without a clock all is in 1970.
    EXPECT_THAT(doubts(read_xml(xml_of({{"Good", "One", "skipped", kNever, kSkipped}}, kNever))),
                IsEmpty());
}

// Since 1.16 a file has failures of suites: such a test without one was skipped.
TEST(GoogletestXml, AFileThatNamesFailuresOfSuitesTellsAll) {
    const Element failure{"Broken", "", "completed", kNever, "<failure message='a.cc:1&#x0A;x'/>"};
    const Element skipped{"Skips", "One", "skipped", kNever, kSkipped};
    EXPECT_THAT(doubts(read_xml(xml_of({skipped, failure}))), IsEmpty());
    const Element properties{"Good", "One", "completed", "2026-01-02", "<properties/>"};
    EXPECT_EQ(doubts(read_xml(xml_of({skipped, properties}))).size(), 1u);
    std::string with = xml_of({skipped});
    with.insert(with.find("<testcase"), "<properties/>");
    EXPECT_THAT(doubts(read_xml(with)), IsEmpty());
    // A failed global set-up explains it in any version.
    EXPECT_THAT(doubts(read_xml(xml_of(
                    {skipped, {"NonTestSuiteFailure", "", "completed", kNever, failure.inner}}))),
                IsEmpty());
}

// A global set-up that skips: "completed" by the file. Up to 1.10 one that fails looks the same.
TEST(GoogletestXml, ATestThatRanAndNeverBeganIsSkipped) {
    const auto file = read_xml(xml_of({{"Under", "One", "completed", kNever}}));
    EXPECT_EQ(file.cases.at(0).state, State::skipped);
    EXPECT_FALSE(file.cases.at(0).started);
    EXPECT_TRUE(analysis::account(file).closed());
    const auto older =
        read_xml(xml_of({{"Under", "One", "completed", kNever}}, "2026-01-02T03:04:05", false));
    EXPECT_THAT(doubts(older), ElementsAre(::testing::HasSubstr("a global set-up failed or")));
}

// Of the log of one test suite.
std::string log_of(std::string_view suite, std::string_view test, State state, bool broken) {
    const std::string_view word = state == State::passed    ? "[       OK ]"
                                  : state == State::skipped ? "[  SKIPPED ]"
                                                            : "[  FAILED  ]";
    return fmt::format(
        "[==========] Running 1 test from 1 test suite.\n"
        "[----------] Global test environment set-up.\n"
        "[----------] 1 test from {0}\n{3}[ RUN      ] {0}.{1}\n{2} {0}.{1} (0 ms)\n"
        "[----------] 1 test from {0} (0 ms total)\n\n"
        "[----------] Global test environment tear-down\n"
        "[==========] 1 test from 1 test suite ran. (0 ms total)\n"
        "[  PASSED  ] {4} test{5}.\n{6}{7}",
        suite, test, word, broken ? "a.cc:9: Failure\nFailed\nno database\n" : "",
        state == State::passed ? 1 : 0, state == State::passed ? "" : "s",
        state == State::skipped ? "[  SKIPPED ] 1 test, listed below:\n" : "",
        state == State::failed ? "[  FAILED  ] 1 test, listed below:\n" : "");
}

ModuleRecord read_log(const std::string& bytes, std::string_view name) {
    return imported_parts(Dialect::googletest_text, name, bytes).parts.at(0);
}

States states_of(const ModuleRecord& record) {
    States states;
    for (const CaseRecord& c : record.cases) states[c.id] = c.state;
    return states;
}

TEST(GoogletestFiles, OfOneRunCompleteEachOther) {
    const std::string xml = xml_of({{"Broken", "One", "skipped", kNever, kSkipped}});
    const std::string log = log_of("Broken", "One", State::skipped, true);
    for (const char* name : {"bin.log", "out/ci.txt"}) {
        GoogletestFiles files;
        files.hold(read_xml(xml), "bin.xml", 0, Dialect::junit_xml);
        const ModuleRecord run = files.completed(read_log(log, name), name);
        EXPECT_EQ(run.path, "bin");
        EXPECT_EQ(states_of(run), (States{{"bin::Broken::One", State::skipped},
                                          {"bin::Broken::<TestSuite>", State::errored}}));
        EXPECT_TRUE(analysis::account(run).closed());
        EXPECT_THAT(run.diagnostics, IsEmpty());
        EXPECT_THAT(files.take_rest(), IsEmpty());
    }
}

TEST(GoogletestFiles, OfOtherResultsAreOtherRuns) {
    const std::string log = log_of("Some", "One", State::failed, false);
    for (const Element& other : {Element{"Some", "One"}, Element{"Some", "Two"}}) {
        GoogletestFiles files;
        files.hold(read_xml(xml_of({other})), "bin.xml", 7, Dialect::junit_xml);
        const ModuleRecord run = files.completed(read_log(log, "bin.log"), "bin.log");
        EXPECT_EQ(states_of(run), (States{{"bin::Some::One", State::failed}}));
        const auto rest = files.take_rest();
        ASSERT_EQ(rest.size(), 1u);
        EXPECT_EQ(rest[0].second, 7u);
    }
}

// Of several that fit the one of its own name counts; of two that are named otherwise, none.
TEST(GoogletestFiles, TheNameDecidesBetweenFilesOfTheSameTests) {
    const std::string log = log_of("Some", "One", State::passed, false);
    const ModuleRecord file = read_xml(xml_of({{"Some", "One"}}));
    const auto left = [&](std::vector<std::string> names) {
        GoogletestFiles files;
        for (size_t i = 0; i < names.size(); ++i)
            files.hold(file, names[i], i, Dialect::junit_xml);
        (void)files.completed(read_log(log, "a/bin.log"), "a/bin.log");
        std::vector<std::string> rest;
        for (const auto& [part, i] : files.take_rest()) rest.push_back(names[i]);
        return rest;
    };
    EXPECT_THAT(left({"b/bin.xml", "a/bin.xml"}), ElementsAre("b/bin.xml"));
    EXPECT_THAT(left({"x.xml", "bin.xml"}), ElementsAre("x.xml"));
    EXPECT_THAT(left({"x.xml", "y.xml"}), ElementsAre("x.xml", "y.xml"));
    EXPECT_THAT(left({"b/bin.xml", "c/bin.xml"}), ElementsAre("b/bin.xml", "c/bin.xml"));
}

std::vector<Golden> whole_runs() {
    std::vector<Golden> all;
    for (Golden& golden : testing::goldens("gtest"))
        if (golden.has(".json") &&
            golden.stem.filename().string().find("repeat") == std::string::npos)
            all.push_back(std::move(golden));
    return all;
}

class GoogletestLogAndJson : public ::testing::TestWithParam<Golden> {};

// Every test has a name, and each failure outside of tests a row.
TEST_P(GoogletestLogAndJson, AreOneRun) {
    const Golden& golden = GetParam();
    const ModuleRecord log = read_log(golden.read(".log"), "bin.log");
    GoogletestFiles files;
    files.hold(imported_parts(Dialect::googletest_json, "bin.json", golden.read(".json")).parts.at(0),
               "bin.json", 0, Dialect::googletest_json);
    const ModuleRecord run = files.completed(log, "bin.log");
    EXPECT_THAT(files.take_rest(), IsEmpty());
    EXPECT_TRUE(analysis::account(run).closed());
    EXPECT_THAT(run.diagnostics, IsEmpty());
    States wanted = states_of(log);
    if (golden.stem.filename() == "skipping") {
        wanted.erase("bin::<unnamed skipped>");
        wanted.insert({{"bin::Under::One", State::skipped}, {"bin::Under::Two", State::skipped}});
    }
    EXPECT_EQ(states_of(run), wanted);
}

INSTANTIATE_TEST_SUITE_P(Real, GoogletestLogAndJson, ::testing::ValuesIn(whole_runs()),
                         testing::golden_name);

}  // namespace
}  // namespace compat::parsers::googletest_files_test
