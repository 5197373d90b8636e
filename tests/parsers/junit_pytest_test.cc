// JUnit XML of pytest with plugins, in the forms that pytest 8.4 to 9.2, pytest-rerunfailures 15.1
// to 16.7, pytest-subtests 0.15, pytest-xdist 3.8 and pytest-forked 1.7 write; and attempts of
// others. What the same plugins print is in the comments.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/analysis/accounting.h"
#include "tests/parsers/import_invariants.h"

namespace compat::parsers::junit_pytest_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kFailure =
    "<failure message=\"assert 1 == 2\">E   assert 1 == 2</failure>";
constexpr std::string_view kTearDown =
    "<error message=\"failed on teardown with &quot;RuntimeError: down&quot;\">E   RuntimeError: "
    "down</error>";
constexpr std::string_view kSkipped =
    "<skipped type=\"pytest.skip\" message=\"why\">/suite/test_a.py:3: why</skipped>";
constexpr std::string_view kXfail = "<skipped type=\"pytest.xfail\" message=\"known\" />";
constexpr std::string_view kContains =
    "<failure message=\"contains 1 failed subtest\">contains 1 failed subtest</failure>";

std::string element(std::string_view name, std::string_view inside = {}) {
    return fmt::format("<testcase classname=\"test_a\" name=\"{}\" time=\"0.5\">{}</testcase>",
                       name, inside);
}

std::string suite(std::string_view totals, const std::vector<std::string>& elements,
                  std::string_view name = "pytest") {
    std::string text = fmt::format(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><testsuites><testsuite name=\"{}\" {} "
        "time=\"0.1\" timestamp=\"2026-11-27T19:58:02+00:00\" hostname=\"host\">",
        name, totals);
    for (const std::string& one : elements) text += one;
    return text + "</testsuite></testsuites>";
}

// The one part of a file that adds up.
ModuleRecord read(const std::string& text) {
    auto all = testing::imported_parts(Dialect::junit_xml, "results.xml", text);
    EXPECT_THAT(all.diagnostics, IsEmpty());
    EXPECT_EQ(all.parts.size(), 1u);
    if (all.parts.empty()) return {};
    EXPECT_THAT(analysis::account(all.parts[0]).mismatches, IsEmpty());
    return std::move(all.parts[0]);
}

// "test_a.py::t: failed failed passed".
std::vector<std::string> attempts_in(const ModuleRecord& record) {
    std::vector<std::string> lines;
    for (const CaseRecord& test : record.cases) {
        std::string line = test.id + ":";
        for (const CaseRecord& attempt : test.earlier)
            line += fmt::format(" {}", name_of(attempt.state));
        lines.push_back(fmt::format("{} {}", line, name_of(test.state)));
    }
    return lines;
}

// "1 failed, 2 passed, 3 rerun"
TEST(PytestReruns, TheLastElementOfATestDecides) {
    const ModuleRecord record =
        read(suite("errors=\"0\" failures=\"1\" skipped=\"0\" tests=\"3\"",
                   {element("never"), element("never"), element("never", kFailure),
                    element("second"), element("second"), element("fine")}));
    EXPECT_EQ(record.framework, "pytest");
    EXPECT_THAT(attempts_in(record),
                ElementsAre("test_a.py::never: failed failed failed",
                            "test_a.py::second: failed passed", "test_a.py::fine: passed"));
    EXPECT_THAT(record.diagnostics, IsEmpty());
    EXPECT_THAT(record.cases[1].earlier[0].why(), HasSubstr("run again"));
}

// xdist's workers interleave; a test of a class, with parameters, that is skipped in the end.
TEST(PytestReruns, AreFoundBetweenOtherTests) {
    const auto in_class = [](std::string_view inside) {
        return fmt::format(
            "<testcase classname=\"test_a.TestA.TestB\" name=\"p[x.y::z]\">{}</testcase>", inside);
    };
    EXPECT_THAT(
        attempts_in(read(suite("errors=\"0\" failures=\"0\" skipped=\"1\" tests=\"2\"",
                               {element("a"), in_class(""), element("a"), in_class(kSkipped)}))),
        ElementsAre("test_a.py::a: failed passed",
                    "test_a.py::TestA::TestB::p[x.y::z]: failed skipped"));
}

// 16.6.1 reports tear-downs of earlier attempts, and pytest counts them: "6 errors". A failed call
// and its tear-down are one attempt.
TEST(PytestReruns, ATearDownIsOfTheAttemptBeforeIt) {
    EXPECT_THAT(
        attempts_in(read(suite(
            "errors=\"4\" failures=\"1\" skipped=\"0\" tests=\"5\"",
            {element("never", kTearDown), element("never", kTearDown), element("never", kFailure),
             element("never", kTearDown), element("once", kTearDown), element("once")}))),
        ElementsAre("test_a.py::never: errored errored failed", "test_a.py::once: errored passed"));
}

// "PASSED RERUN PASSED": the total counts both passes.
TEST(PytestReruns, ATearDownThatBreaksOnceLeavesTheTestPassed) {
    const ModuleRecord record = read(suite("errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"3\"",
                                           {element("down"), element("down"), element("fine")}));
    EXPECT_THAT(attempts_in(record),
                ElementsAre("test_a.py::down: failed passed", "test_a.py::fine: passed"));
    ASSERT_EQ(record.diagnostics.size(), 1u);
    EXPECT_THAT(record.diagnostics[0].message, HasSubstr("they are read as attempts at it"));
}

// pytest --keep-duplicates test_a.py test_a.py test_z.py; xdist's --dist=each is the same.
TEST(PytestReruns, ElementsThatTheTotalsCountAreTests) {
    const ModuleRecord record =
        read(suite("errors=\"0\" failures=\"1\" skipped=\"0\" tests=\"5\"",
                   {element("a"), element("b"), element("a"), element("b", kFailure),
                    "<testcase classname=\"test_z\" name=\"z\" time=\"0.1\" />"}));
    EXPECT_THAT(attempts_in(record), ElementsAre("test_a.py::a: passed", "test_a.py::a#2: passed",
                                                 "test_a.py::b: passed", "test_a.py::b#2: failed",
                                                 "test_z.py::z: passed"));
    ASSERT_EQ(record.diagnostics.size(), 1u);
    EXPECT_THAT(record.diagnostics[0].message, HasSubstr("each has a row of its own"));
}

// Two runs in one file, both tests broken in the first: pytest-rerunfailures writes no failure of
// an attempt that was run again.
TEST(PytestReruns, AFailureBeforeAPassIsShownWhereTheTotalsCountIt) {
    EXPECT_THAT(
        attempts_in(read(suite("errors=\"0\" failures=\"1\" skipped=\"0\" tests=\"3\"",
                               {element("a", kFailure), element("b"), element("a")}))),
        ElementsAre("test_a.py::a: failed", "test_a.py::a#2: passed", "test_a.py::b: passed"));
    // A sub-test that passes in its second attempt is counted, too.
    EXPECT_THAT(attempts_in(read(suite("errors=\"0\" failures=\"1\" skipped=\"0\" tests=\"3\"",
                                       {element("a", kFailure), element("a")}))),
                ElementsAre("test_a.py::a: failed passed"));
    const ModuleRecord record =
        read(suite("errors=\"0\" failures=\"2\" skipped=\"0\" tests=\"4\"",
                   {element("a", kFailure), element("b", kFailure), element("a"), element("b")}));
    EXPECT_THAT(attempts_in(record), ElementsAre("test_a.py::a: failed", "test_a.py::a#2: passed",
                                                 "test_a.py::b: failed", "test_a.py::b#2: passed"));
    ASSERT_EQ(record.diagnostics.size(), 1u);
    EXPECT_THAT(record.diagnostics[0].message, HasSubstr("each has a row of its own"));
}

// As PyTorch's own conftest.py writes them.
TEST(PytestReruns, MayBeChildrenOfTheTest) {
    const ModuleRecord record =
        read(suite("errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"1\"",
                   {element("a", "<rerun message=\"assert 0\">E   assert 0</rerun>")}));
    EXPECT_THAT(attempts_in(record), ElementsAre("test_a.py::a: failed passed"));
    EXPECT_EQ(record.cases[0].earlier[0].failure->first_line(), "AssertionError: assert 0");
}

// pytest 9.1 leaves the error of a tear-down out of `tests` if the call passed, older ones if it
// failed.
TEST(PytestTotals, CountATearDownEitherWay) {
    for (const auto& [tests, inside] :
         {std::pair{1, std::string(kTearDown)}, {2, std::string(kTearDown)}})
        EXPECT_THAT(
            read(suite(fmt::format("errors=\"1\" failures=\"0\" skipped=\"0\" tests=\"{}\"", tests),
                       {element("a", inside)}))
                .diagnostics,
            IsEmpty());
    for (const int tests : {1, 2})
        EXPECT_THAT(
            read(suite(fmt::format("errors=\"1\" failures=\"1\" skipped=\"0\" tests=\"{}\"", tests),
                       {element("a", kFailure), element("a", kTearDown)}))
                .diagnostics,
            IsEmpty());
}

// Users name it.
TEST(PytestForm, TellsItWhateverTheSuiteIsCalled) {
    const ModuleRecord record = read(suite("errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"1\"",
                                           {element("a"), element("a")}, "nightly"));
    EXPECT_EQ(record.framework, "pytest");
    EXPECT_THAT(attempts_in(record), ElementsAre("test_a.py::a: failed passed"));
    // Others' equal names are different tests.
    EXPECT_THAT(attempts_in(read("<testsuite name='s' tests='2'><testcase name='a'/>"
                                 "<testcase name='a'/></testsuite>")),
                ElementsAre("s::a: passed", "s::a#2: passed"));
}

// The tests of a file that counts so many outcomes without a name.
std::string with_unnamed(int unnamed, std::string_view totals, int named,
                         const std::vector<std::string>& elements) {
    return suite(fmt::format("{} tests=\"{}\"", totals, named + unnamed), elements);
}

TEST(PytestSubtests, AreTheOutcomesBeforeTheTestsOwn) {
    const std::string skipped(kSkipped);
    const ModuleRecord record = read(
        with_unnamed(5, "errors=\"0\" failures=\"4\" skipped=\"3\"", 7,
                     {element("fails", std::string(kFailure) + std::string(kContains)),
                      element("both", skipped + std::string(kFailure) + std::string(kContains)),
                      element("skips", skipped + std::string(kXfail))}));
    EXPECT_THAT(attempts_in(record),
                ElementsAre("test_a.py::fails: failed", "test_a.py::both: failed",
                            "test_a.py::skips: passed"));
    ASSERT_EQ(record.cases[0].subcases.size(), 1u);
    EXPECT_EQ(record.cases[0].failure->message, "contains 1 failed subtest");
    ASSERT_EQ(record.cases[1].subcases.size(), 2u);
    EXPECT_EQ(record.cases[1].subcases[0].state, State::skipped);
    EXPECT_EQ(record.cases[1].subcases[1].state, State::failed);
    ASSERT_EQ(record.cases[2].subcases.size(), 2u);
    EXPECT_EQ(record.cases[2].subcases[1].state, State::xfailed);
    EXPECT_EQ(record.cases[2].subcases[1].reason, "known");
}

// "T::test_u PASSED", after "SUBFAILED(i=2)"; and a skip after it.
TEST(PytestSubtests, OneThatFailedFailsItsTest) {
    const ModuleRecord record =
        read(with_unnamed(2, "errors=\"0\" failures=\"2\" skipped=\"1\"", 3,
                          {element("passes", kFailure),
                           element("skips", std::string(kFailure) + std::string(kSkipped))}));
    EXPECT_THAT(attempts_in(record),
                ElementsAre("test_a.py::passes: failed", "test_a.py::skips: failed"));
}

// Nothing tells whether it is of the test, unless no outcome lacks a name.
TEST(PytestSubtests, ASingleSkipIsTheTestsOwn) {
    const auto states = [](int unnamed, std::string_view inside, int named) {
        return attempts_in(read(
            with_unnamed(unnamed, fmt::format("errors=\"0\" failures=\"0\" skipped=\"{}\"", named),
                         named, {element("a", inside)})));
    };
    const std::string two = std::string(kSkipped) + std::string(kSkipped);
    EXPECT_THAT(states(0, kSkipped, 1), ElementsAre("test_a.py::a: skipped"));
    EXPECT_THAT(states(1, kSkipped, 1), ElementsAre("test_a.py::a: skipped"));
    EXPECT_THAT(states(0, two, 2), ElementsAre("test_a.py::a: skipped"));
    EXPECT_THAT(states(1, two, 2), ElementsAre("test_a.py::a: passed"));
}

// "RERUN" after "SUBFAILED[a]": the sub-test is in the totals, the attempt is not.
TEST(PytestSubtests, AreOfTheirAttempt) {
    const ModuleRecord record =
        read(suite("errors=\"0\" failures=\"4\" skipped=\"1\" tests=\"6\"",
                   {element("once", kFailure), element("once"),
                    element("never", std::string(kFailure) + std::string(kSkipped)),
                    element("never", std::string(kFailure) + std::string(kContains))}));
    EXPECT_THAT(attempts_in(record),
                ElementsAre("test_a.py::once: failed passed", "test_a.py::never: failed failed"));
    EXPECT_EQ(record.cases[0].earlier[0].failure->message, "assert 1 == 2");
    EXPECT_THAT(record.diagnostics, IsEmpty());
}

TEST(PytestCrashes, AreCrashed) {
    const auto error = [](std::string_view text) {
        return fmt::format("<error message=\"failed on setup with &quot;{0}&quot;\">{0}</error>",
                           text);
    };
    const ModuleRecord record = read(
        suite("errors=\"4\" failures=\"0\" skipped=\"0\" tests=\"4\"",
              {element("worker", error("worker 'gw0' crashed while running 'test_a.py::worker'")),
               element("forked", error("/suite/test_a.py:2: running the test CRASHED with signal "
                                       "11 (SIGSEGV)")),
               element("left", error("/suite/test_a.py:8: running the test EXITED with status 3")),
               element("only_said_so", error("E   RuntimeError: it crashed"))}));
    EXPECT_THAT(attempts_in(record),
                ElementsAre("test_a.py::worker: crashed", "test_a.py::forked: crashed",
                            "test_a.py::left: crashed", "test_a.py::only_said_so: errored"));
    EXPECT_EQ(record.cases[0].reason, "worker 'gw0' crashed while running 'test_a.py::worker'");
    EXPECT_EQ(record.cases[1].reason, "running the test CRASHED with signal 11 (SIGSEGV)");
    EXPECT_EQ(record.cases[2].reason, "running the test EXITED with status 3");
}

// As cargo-nextest writes them: with a time, and with output of their own.
TEST(Attempts, HaveTheirOwnTextAndTime) {
    const ModuleRecord record = read(
        "<testsuites name='run' tests='2' failures='1' errors='0'><testsuite name='crate' "
        "tests='2' disabled='0' errors='0' failures='1'>"
        "<testcase name='mod::flaky' classname='crate' time='0.01'><flakyFailure time='0.25' "
        "message='thread panicked' type='test failure with exit code 101'>panicked at src/lib.rs:3"
        "<system-out>first try</system-out></flakyFailure></testcase>"
        "<testcase name='mod::never' classname='crate' time='0.01'><failure message='one' "
        "type='test failure'>one</failure><rerunFailure message='two' type='test failure'>"
        "<stackTrace>two\nat x</stackTrace></rerunFailure><rerunError message='three'/></testcase>"
        "</testsuite></testsuites>");
    EXPECT_THAT(attempts_in(record), ElementsAre("crate::mod::flaky: failed passed",
                                                 "crate::mod::never: failed errored failed"));
    const CaseRecord& first = record.cases[0].earlier[0];
    EXPECT_EQ(first.duration_s, 0.25);
    EXPECT_EQ(first.failure->message, "thread panicked");
    EXPECT_EQ(first.failure->traceback,
              "panicked at src/lib.rs:3\n--- Captured stdout ---\nfirst try");
    EXPECT_EQ(record.cases[1].failure->message, "one");
    EXPECT_EQ(record.cases[1].earlier[0].failure->traceback, "two\nat x");
}

// One record an attempt: the module's first has each test once.
TEST(Attempts, OfAModuleAreRecordsOfTheirOwn) {
    const auto attempts =
        split_attempts(read(suite("errors=\"0\" failures=\"1\" skipped=\"0\" tests=\"3\"",
                                  {element("never"), element("never"), element("never", kFailure),
                                   element("second"), element("second"), element("fine")})));
    ASSERT_EQ(attempts.size(), 3u);
    EXPECT_THAT(attempts_in(attempts[0]),
                ElementsAre("test_a.py::never: failed", "test_a.py::second: failed",
                            "test_a.py::fine: passed"));
    EXPECT_THAT(attempts_in(attempts[1]),
                ElementsAre("test_a.py::never: failed", "test_a.py::second: passed"));
    EXPECT_THAT(attempts_in(attempts[2]), ElementsAre("test_a.py::never: failed"));
    EXPECT_EQ(attempts[1].collected, 2);
    EXPECT_FALSE(attempts[0].closing);
}

}  // namespace
}  // namespace compat::parsers::junit_pytest_test
