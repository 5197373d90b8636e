// The JSON lines of pytest-reportlog: of real runs against what pytest's own objects say of them
// (golden/regenerate_reportlog.sh), and the lines that reruns, workers and deaths leave.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "parsers/outcomes.h"
#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"
#include "tests/parsers/oracle_model.h"

namespace compat::parsers::report_log_test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::imported_parts;
using testing::ImportedParts;
using ::testing::IsEmpty;

class PytestReportLog : public ::testing::TestWithParam<std::string> {};

TEST_P(PytestReportLog, IsWhatPytestSays) {
    const std::string bytes = testing::golden_bytes(GetParam() + "/run.jsonl");
    EXPECT_EQ(recognise(signs_in(bytes)), Dialect::pytest_reportlog);
    ImportedParts all = imported_parts(Dialect::pytest_reportlog, "run.jsonl", bytes);
    EXPECT_THAT(all.diagnostics, IsEmpty());
    ASSERT_EQ(all.parts.size(), 1u);
    ModuleRecord& record = all.parts[0];
    EXPECT_THAT(record.diagnostics, IsEmpty());
    EXPECT_EQ(record.framework, "pytest");
    EXPECT_EQ(record.framework_version, GetParam().substr(GetParam().rfind('-') + 1));
    EXPECT_TRUE(record.finished);
    json model = json::parse(testing::golden_bytes(GetParam() + "/model.json"));
    ASSERT_EQ(model["cases"].erase("<module>"), 1u);  // of both modules below
    // The oracle has no type for what pytest itself says, no failure that was expected, and no
    // sub-test that did not break.
    model["cases"]["test_states.py::test_xpass_strict"]["failures"][0]["type"] = "Failed";
    for (CaseRecord& c : record.cases) {
        if (c.state == State::xfailed) c.failure.reset();
        std::erase_if(c.subcases, [](const SubCase& s) { return !is_failure(s.state); });
    }
    const auto row = [&](size_t i) {
        const CaseRecord& c = record.cases.at(i);
        return std::vector{c.id, std::string(name_of(c.state)), c.why()};
    };
    EXPECT_THAT(row(0), ElementsAre("test_collect_error.py::<module>", "errored",
                                    "ModuleNotFoundError: No module named "
                                    "'module_that_does_not_exist'"));
    EXPECT_THAT(row(1),
                ElementsAre("test_module_skip.py::<module>", "skipped", "not on this host"));
    EXPECT_EQ(std::erase_if(record.cases, [](const CaseRecord& c) { return c.pseudo; }), 2u);
    EXPECT_EQ(static_cast<std::int64_t>(record.cases.size()), model["collected"]);
    testing::expect_model(record, model);
    for (const CaseRecord& c : record.cases) {
        EXPECT_EQ(c.name, c.id);
        EXPECT_FALSE(c.location.file.empty()) << c.id;
    }
}

INSTANTIATE_TEST_SUITE_P(Versions, PytestReportLog,
                         ::testing::Values("reportlog-pytest-8.4.2", "reportlog-pytest-9.2.0"),
                         [](const auto& row) {
                             std::string name = row.param.substr(17);
                             std::replace(name.begin(), name.end(), '.', '_');
                             return name;
                         });

// Lines as pytest-reportlog 1.0 writes them.

std::string start(const std::string& version = "9.2.0") {
    return json{{"pytest_version", version}, {"$report_type", "SessionStart"}}.dump() + "\n";
}
std::string finish(int status) {
    return json{{"exitstatus", status}, {"$report_type", "SessionFinish"}}.dump() + "\n";
}
json report(const std::string& test, const std::string& when, const std::string& outcome = "passed",
            const json& more = json::object()) {
    json line{{"nodeid", "t.py::" + test},
              {"when", when},
              {"outcome", outcome},
              {"longrepr", nullptr},
              {"duration", 0.5},
              {"sections", json::array()},
              {"location", {"t.py", 3, test}},
              {"$report_type", "TestReport"}};
    line.update(more);
    return line;
}
std::string lines(const std::vector<json>& reports) {
    std::string text;
    for (const json& line : reports) text += line.dump() + "\n";
    return text;
}
// The three reports of an attempt.
std::string attempt(const std::string& test, const std::string& outcome,
                    const json& more = json::object()) {
    json call = more;
    if (outcome != "passed") call["longrepr"] = "it broke";
    return lines({report(test, "setup", "passed", more), report(test, "call", outcome, call),
                  report(test, "teardown", "passed", more)});
}

ImportedParts read(const std::string& text) {
    EXPECT_EQ(testing::broken_import_invariant(Dialect::pytest_reportlog, text), "");
    return imported_parts(Dialect::pytest_reportlog, "run.jsonl", text);
}

// "t.py::test_a failed passed": each attempt's.
std::vector<std::string> states(const ModuleRecord& part) {
    std::vector<std::string> all;
    for (const CaseRecord& c : part.cases) {
        std::string& line = all.emplace_back(c.id);
        for (const CaseRecord& attempt : c.earlier)
            line += fmt::format(" {}", name_of(attempt.state));
        line += fmt::format(" {}", name_of(c.state));
    }
    return all;
}

TEST(PytestReportLogLines, EachRerunIsAnAttempt) {
    const ImportedParts all =
        read(start() + attempt("test_a", "rerun") + attempt("test_b", "passed") +
             attempt("test_a", "rerun") + attempt("test_a", "passed") + finish(0));
    ASSERT_EQ(all.parts.size(), 1u);
    EXPECT_THAT(states(all.parts[0]),
                ElementsAre("t.py::test_a failed failed passed", "t.py::test_b passed"));
    EXPECT_EQ(all.parts[0].cases[0].earlier[0].failure->message, "it broke");
    EXPECT_TRUE(analysis::account(all.parts[0]).closed());
}

// pytest-rerunfailures calls a set-up or tear-down that breaks a rerun, too.
TEST(PytestReportLogLines, ATearDownThatPassesInItsRerunIsAPass) {
    const ImportedParts all =
        read(start() +
             lines({report("test_a", "setup"), report("test_a", "call"),
                    report("test_a", "teardown", "rerun", {{"longrepr", "tear-down"}})}) +
             attempt("test_a", "passed") + finish(0));
    ASSERT_EQ(all.parts.size(), 1u);
    EXPECT_THAT(states(all.parts[0]), ElementsAre("t.py::test_a errored passed"));
    EXPECT_EQ(all.parts[0].cases[0].earlier[0].call_state, State::passed);
}

// pytest-retry 1.7: "RETRIED", then the next call in the same set-up, or after a further one.
TEST(PytestReportLogLines, ACallThatIsFollowedByAnotherIsAnAttempt) {
    const auto call = [](const std::string& test, const std::string& outcome) {
        return report(test, "call", outcome, {{"longrepr", "it broke"}});
    };
    const ImportedParts all = read(
        start() +
        lines({report("test_a", "setup"), call("test_a", "retried"), report("test_a", "call"),
               report("test_a", "teardown"), report("test_b", "setup"), call("test_b", "failed"),
               call("test_b", "failed"), report("test_b", "teardown")}) +
        attempt("test_c", "retried") + attempt("test_c", "passed") + attempt("test_d", "odd") +
        finish(1));
    ASSERT_EQ(all.parts.size(), 1u);
    const std::vector<CaseRecord>& cases = all.parts[0].cases;
    EXPECT_THAT(states(all.parts[0]),
                ElementsAre("t.py::test_a failed passed", "t.py::test_b failed failed",
                            "t.py::test_c failed passed", "t.py::test_d errored"));
    for (size_t i = 0; i < 3; ++i) {
        ASSERT_EQ(cases[i].earlier.size(), 1u);
        EXPECT_EQ(cases[i].earlier[0].state, State::failed);
        EXPECT_EQ(cases[i].earlier[0].failure->message, "it broke");
    }
    EXPECT_EQ(cases[3].failure->message, "an outcome of no known kind: \"odd\"");
}

// Nothing says that the second is an attempt: pytest ran it on two workers, or was told to.
TEST(PytestReportLogLines, ATestThatRunsTwiceIsTwo) {
    const json one{{"worker_id", "gw0"}}, two{{"worker_id", "gw1"}};
    const ImportedParts all = read(
        start() +
        lines({report("test_a", "setup", "passed", one), report("test_a", "setup", "passed", two),
               report("test_a", "call", "passed", one),
               report("test_a", "call", "failed", {{"worker_id", "gw1"}, {"longrepr", "x"}}),
               report("test_a", "teardown", "passed", two),
               report("test_a", "teardown", "passed", one)}) +
        attempt("test_b", "passed") + attempt("test_b", "passed") + finish(1));
    ASSERT_EQ(all.parts.size(), 1u);
    EXPECT_THAT(states(all.parts[0]), ElementsAre("t.py::test_a passed", "t.py::test_a#2 failed",
                                                  "t.py::test_b passed", "t.py::test_b#2 passed"));
}

TEST(PytestReportLogLines, AWorkerOrAForkedProcessThatDiesIsACrash) {
    const json gw0{{"worker_id", "gw0"}}, gw1{{"worker_id", "gw1"}};
    const std::string died = "worker 'gw0' crashed while running 't.py::test_b'";
    const ImportedParts all = read(
        start() +
        lines(
            {report("test_a", "setup", "passed", gw0),
             report("test_a", "???", "failed",
                    {{"longrepr", "worker 'gw0' crashed while running 't.py::test_a'"}}),
             report("test_b", "???", "rerun", {{"longrepr", died}}),
             report("test_c", "???", "failed",
                    {{"longrepr", "/t.py:2: running the test CRASHED with signal 6 (SIGABRT)"}})}) +
        attempt("test_b", "passed", gw1) + finish(1));
    ASSERT_EQ(all.parts.size(), 1u);
    const auto& cases = all.parts[0].cases;
    EXPECT_THAT(
        states(all.parts[0]),
        ElementsAre("t.py::test_a crashed", "t.py::test_b crashed passed", "t.py::test_c crashed"));
    EXPECT_EQ(cases[1].earlier[0].reason, died);
    EXPECT_EQ(cases[2].reason, "running the test CRASHED with signal 6 (SIGABRT)");
}

json subtest(const std::string& outcome, const json& context) {
    return report("test_s", "call", outcome,
                  {{"$report_type", "SubTestReport"}, {"_subtest.context", context}});
}

// pytest-rerunfailures keeps what it reports of an attempt until its end, but for sub-tests.
TEST(PytestReportLogLines, SubTestsBeforeASetUpAreOfItsAttempt) {
    const json context{{"msg", "m"}, {"kwargs", json::object()}};
    const ImportedParts all =
        read(start() + lines({subtest("failed", context)}) + attempt("test_s", "rerun") +
             lines({subtest("passed", context)}) + attempt("test_s", "passed") + finish(0));
    ASSERT_EQ(all.parts.size(), 1u);
    ASSERT_THAT(states(all.parts[0]), ElementsAre("t.py::test_s failed passed"));
    const CaseRecord& test = all.parts[0].cases[0];
    ASSERT_EQ(test.subcases.size(), 1u);
    EXPECT_EQ(test.subcases[0].state, State::passed);
    ASSERT_EQ(test.earlier[0].subcases.size(), 1u);
    EXPECT_EQ(test.earlier[0].subcases[0].state, State::failed);
}

// Their values are written as they are up to pytest 9.0, and as their repr after.
TEST(PytestReportLogLines, ASubTestIsNamedAsPytestPrintsIt) {
    const json values{{"i", 1}, {"s", "it's"}, {"t", true}};
    const json reprs{{"i", "1"}, {"s", "\"it's\""}, {"t", "True"}};
    for (const auto& [version, kwargs] :
         {std::pair{"8.4.2", values}, std::pair{"9.0.2", values}, std::pair{"9.1.0", reprs}}) {
        const ImportedParts all =
            read(start(version) + report("test_s", "setup").dump() + "\n" +
                 lines({subtest("passed", {{"msg", "m"}, {"kwargs", kwargs}}),
                        subtest("skipped", {{"msg", nullptr}, {"kwargs", json::object()}})}) +
                 lines({report("test_s", "call"), report("test_s", "teardown")}) + finish(0));
        const CaseRecord& test = all.parts.at(0).cases.at(0);
        EXPECT_EQ(test.state, State::passed);
        ASSERT_EQ(test.subcases.size(), 2u);
        EXPECT_EQ(test.subcases[0].label, "[m] (i=1, s=\"it's\", t=True)") << version;
        EXPECT_EQ(test.subcases[1].label, "(<subtest>)");
        EXPECT_EQ(test.subcases[1].state, State::skipped);
    }
}

TEST(PytestReportLogLines, ATestWithASubTestThatFailedIsFailed) {
    const json context{{"msg", "m"}, {"kwargs", json::object()}};
    const ImportedParts all =
        read(start() +
             lines({report("test_s", "setup"), subtest("failed", context), report("test_s", "call"),
                    report("test_s", "teardown", "failed", {{"longrepr", "x"}})}) +
             finish(1));
    const CaseRecord& test = all.parts.at(0).cases.at(0);
    EXPECT_EQ(test.state, State::failed);
    EXPECT_EQ(test.call_state, State::passed);
    EXPECT_EQ(test.failure->counted, State::errored);
    // A failure that was expected after it is none of the test's.
    const ImportedParts expected =
        read(start() +
             lines({report("test_s", "setup"), subtest("failed", context),
                    report("test_s", "call", "skipped", {{"wasxfail", "whole"}}),
                    report("test_s", "teardown")}) +
             finish(1));
    EXPECT_EQ(expected.parts.at(0).cases.at(0).state, State::failed);
    EXPECT_EQ(expected.parts.at(0).cases.at(0).call_state, State::xfailed);
    EXPECT_FALSE(expected.parts.at(0).cases.at(0).failure);
}

TEST(PytestReportLogLines, AFileThatIsCutOffNamesTheTestThatHadBegun) {
    const std::string whole = start() + attempt("test_a", "passed") +
                              report("test_b", "setup").dump() + "\n" +
                              report("test_b", "call", "failed", {{"longrepr", "x"}}).dump() + "\n";
    for (const size_t cut : {0, 1, 9}) {
        const ImportedParts all = read(whole.substr(0, whole.size() - cut));
        ASSERT_EQ(all.parts.size(), 1u);
        EXPECT_EQ(all.parts[0].outcome, ModuleOutcome::interrupted);
        EXPECT_FALSE(analysis::account(all.parts[0]).closed());
        EXPECT_EQ(all.parts[0].cases.at(1).state, cut < 2 ? State::failed : State::not_run);
    }
}

TEST(PytestReportLogLines, TheExitStatusIsHeldAgainstTheTests) {
    const std::string begun = report("test_b", "setup").dump() + "\n";
    const auto with = [](const std::string& text, int status) {
        ImportedParts all = read(start() + attempt("test_a", "passed") + text + finish(status));
        return std::move(all.parts.at(0));
    };
    EXPECT_EQ(with("", 0).outcome, ModuleOutcome::completed);
    EXPECT_THAT(states(with("", 1)), ElementsAre("t.py::test_a passed", "t.py::<module> crashed"));
    const ModuleRecord interrupted = with(begun, 2);
    EXPECT_THAT(states(interrupted), ElementsAre("t.py::test_a passed", "t.py::test_b not_run"));
    EXPECT_THAT(interrupted.diagnostics.at(0).message, HasSubstr("pytest was interrupted"));
    EXPECT_THAT(states(with(begun, 3)), ElementsAre("t.py::test_a passed", "t.py::test_b not_run",
                                                    "run.jsonl::<session> errored"));
}

// A line that is lost may have been a failure's.
TEST(PytestReportLogLines, ALineThatCannotBeReadIsADoubt) {
    for (const std::string& bad : {std::string("{\"nodeid\": \n"), std::string("\0\xff\n", 3),
                                   std::string("[]\n"), std::string("7\n")}) {
        const std::string text = start() + bad + attempt("test_a", "passed") + finish(0);
        const ImportedParts all = read(text);
        ASSERT_EQ(all.parts.size(), 1u);
        ASSERT_EQ(all.parts[0].diagnostics.size(), 1u);
        EXPECT_EQ(all.parts[0].diagnostics[0].offset, static_cast<std::int64_t>(start().size()));
        EXPECT_FALSE(analysis::account(all.parts[0]).closed());
    }
    const ImportedParts headless = read(attempt("test_a", "passed") + finish(0));
    EXPECT_FALSE(analysis::account(headless.parts.at(0)).closed());
    const ImportedParts without_call = read(
        start() + lines({report("test_a", "setup"), report("test_a", "teardown")}) + finish(0));
    EXPECT_THAT(states(without_call.parts.at(0)), ElementsAre("t.py::test_a errored"));
}

// As Python writes a property of a test that is no number.
TEST(PytestReportLogLines, NumbersThatJsonHasNotAreRead) {
    std::string text = start() + attempt("test_a", "failed") + finish(1);
    for (size_t at = 0; (at = text.find("0.5", at)) != text.npos; at += 3)
        text.replace(at, 3, at % 2 == 0 ? "NaN" : "-Infinity");
    const ImportedParts all = read(text);
    EXPECT_THAT(all.diagnostics, IsEmpty());
    EXPECT_THAT(states(all.parts.at(0)), ElementsAre("t.py::test_a failed"));
}

}  // namespace
}  // namespace compat::parsers::report_log_test
