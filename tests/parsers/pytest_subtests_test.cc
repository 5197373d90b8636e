// Sub-tests, reruns and dead processes in what pytest prints: one state for each test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/import/importers.h"
#include "runner/analysis/accounting.h"

namespace compat::parsers::pytest_subtests_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModuleRecord read(std::string_view body) {
    const std::string text =
        fmt::format("{:=^80}\nplatform linux -- Python 3.13.0, pytest-9.2.0\n{}",
                    " test session starts ", body);
    std::vector<ModuleRecord> parts;
    EXPECT_THAT(read_result_file(Dialect::pytest_text, {"some.log", text},
                                 [&](ModuleRecord part) { parts.push_back(std::move(part)); }),
                IsEmpty());
    EXPECT_EQ(parts.size(), 1u);
    return parts.empty() ? ModuleRecord{} : std::move(parts.front());
}

std::string ruled(std::string_view text, char rule = '=') {
    const std::string side(6, rule);
    return fmt::format("{} {} {}\n", side, text, side);
}

// "t.py::test_x failed", behind it "(passed)" of its call, its sub-tests, and its earlier attempts.
std::vector<std::string> states(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const CaseRecord& c : part.cases) {
        out.push_back(fmt::format("{} {}", c.id, name_of(c.state)));
        if (c.call_state) out.back() += fmt::format(" ({})", name_of(*c.call_state));
        for (const SubCase& sub : c.subcases)
            out.back() += fmt::format(" {}={}", sub.label, name_of(sub.state));
        for (const CaseRecord& attempt : c.earlier)
            out.back() += fmt::format(" after {}", name_of(attempt.state));
    }
    return out;
}

std::vector<std::string> mismatches(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const auto& mismatch : analysis::account(part).mismatches) out.push_back(mismatch.text());
    return out;
}

// The same tests as pytest 9 prints them, pytest-subtests, both under pytest-xdist, and with -s
// where a test has printed. Sub-tests of unittest's (`U`) have no line but the last two.
struct Printed {
    std::string_view name, lines, closing;
    bool unittest_has_lines = false;
};

const Printed kPrinted[] = {
    {"pytest",
     "collected 5 items / 1 skipped\n\n"
     "t.py::test_a[x y] SUBPASSED[m] (i=0)              [ 20%]\n"
     "t.py::test_a[x y] SUBFAILED[m] (i=1)              [ 20%]\n"
     "t.py::test_a[x y] FAILED                          [ 20%]\n"
     "t.py::test_b SUBSKIPPED[s] (no (way))             [ 40%]\n"
     "t.py::test_b SUBXFAIL(k='a (b)') (known)          [ 40%]\n"
     "t.py::test_b PASSED                               [ 40%]\n"
     "t.py::U::test_c \nt.py::U::test_c PASSED            [ 60%]\n"
     "t.py::test_d SUBFAILED(<subtest>)                 [ 80%]\n"
     "t.py::test_d SKIPPED (all)                        [ 80%]\n"
     "t.py::U::test_e \nt.py::U::test_e PASSED            [100%]\n",
     "4 failed, 3 passed, 4 skipped, 2 xfailed, 2 subtests passed in 0.10s"},
    {"pytest_subtests",
     "collected 5 items / 1 skipped\n\n"
     "t.py::test_a[x y] [m] (i=0) SUBPASS               [ 20%]\n"
     "t.py::test_a[x y] [m] (i=1) SUBFAIL               [ 20%]\n"
     "t.py::test_a[x y] PASSED                          [ 20%]\n"
     "t.py::test_b [s] SUBSKIP (no (way))               [ 40%]\n"
     "t.py::test_b (k='a (b)') SUBXFAIL (known)         [ 40%]\n"
     "t.py::test_b PASSED                               [ 40%]\n"
     "t.py::U::test_c \nt.py::U::test_c PASSED            [ 60%]\n"
     "t.py::test_d (<subtest>) SUBFAIL                  [ 80%]\n"
     "t.py::test_d SKIPPED (all)                        [ 80%]\n"
     "t.py::U::test_e \nt.py::U::test_e PASSED            [100%]\n",
     "3 failed, 4 passed, 4 skipped, 2 subtests passed, 2 subtests xfailed in 0.10s"},
    {"xdist",
     "2 workers [5 items]\n\n"
     "[gw0] [ 20%] SUBPASSED[m] (i=0) t.py::test_a[x y] \n"
     "[gw1] [ 20%] SUBSKIPPED[s] t.py::test_b \n"
     "[gw0] [ 20%] SUBFAILED[m] (i=1) t.py::test_a[x y] \n"
     "[gw1] [ 20%] SUBXFAIL(k='a (b)') t.py::test_b \n"
     "[gw0] [ 40%] FAILED t.py::test_a[x y] \n"
     "[gw1] [ 40%] PASSED t.py::test_b \n"
     "[gw1] [ 60%] SUBPASSED(i=2) t.py::U::test_c \n"
     "[gw1] [ 60%] SUBFAILED(i=3) t.py::U::test_c \n"
     "[gw1] [ 60%] PASSED t.py::U::test_c \n"
     "[gw0] [ 80%] SUBFAILED(<subtest>) t.py::test_d \n"
     "[gw0] [ 80%] SKIPPED t.py::test_d \n"
     "[gw0] [100%] SUBSKIPPED(i=4) t.py::U::test_e \n"
     "[gw0] [100%] PASSED t.py::U::test_e \n",
     "4 failed, 3 passed, 3 skipped, 1 xfailed, 2 subtests passed in 0.10s", true},
    {"pytest_subtests_xdist",
     "2 workers [5 items]\n\n"
     "[gw0] [ 20%] [m] (i=0) SUBPASS t.py::test_a[x y] \n"
     "[gw0] [ 20%] [m] (i=1) SUBFAIL t.py::test_a[x y] \n"
     "[gw0] [ 20%] PASSED t.py::test_a[x y] \n"
     "[gw1] [ 40%] [s] SUBSKIP t.py::test_b \n"
     "[gw1] [ 40%] (k='a (b)') SUBXFAIL t.py::test_b \n"
     "[gw1] [ 40%] PASSED t.py::test_b \n"
     "[gw0] [ 60%] (i=2) SUBPASS t.py::U::test_c \n"
     "[gw0] [ 60%] (i=3) SUBFAIL t.py::U::test_c \n"
     "[gw0] [ 60%] PASSED t.py::U::test_c \n"
     "[gw1] [ 80%] (<subtest>) SUBFAIL t.py::test_d \n"
     "[gw1] [ 80%] SKIPPED t.py::test_d \n"
     "[gw0] [100%] (i=4) SUBSKIP t.py::U::test_e \n"
     "[gw0] [100%] PASSED t.py::U::test_e \n",
     "3 failed, 4 passed, 3 skipped, 2 subtests passed, 1 subtests xfailed in 0.10s", true},
    {"printed",
     "collected 5 items\n\n"
     "t.py::test_a[x y] hello\nSUBPASSED[m] (i=0)\n"
     "t.py::test_a[x y] SUBFAILED[m] (i=1)\n"
     "t.py::test_a[x y] FAILED\n"
     "t.py::test_b SUBSKIPPED[s] (no (way))\n"
     "t.py::test_b SUBXFAIL(k='a (b)') (known)\n"
     "t.py::test_b PASSED\n"
     "t.py::U::test_c SUBPASSED(i=2)\n"
     "t.py::U::test_c SUBFAILED(i=3)\n"
     "t.py::U::test_c PASSED\n"
     "t.py::test_d SUBFAILED(<subtest>)\n"
     "t.py::test_d SKIPPED (all)\n"
     "t.py::U::test_e SUBSKIPPED(i=4)\n"
     "t.py::U::test_e PASSED\n",
     "4 failed, 3 passed, 3 skipped, 1 xfailed, 2 subtests passed in 0.10s", true},
};

class Subtests : public ::testing::TestWithParam<Printed> {};

TEST_P(Subtests, KeepTheirStatesAndDecideWhereTheyFail) {
    const Printed& printed = GetParam();
    const bool plugin = printed.closing.starts_with("3 failed");
    std::string body = fmt::format("{}\n{}", printed.lines, ruled("FAILURES"));
    for (const std::string_view heading :
         {"test_a[x y] [m] (i=1)", "test_a[x y]", "U.test_c (i=3)", "test_d (<subtest>)"})
        if (heading != "test_a[x y]")
            body +=
                ruled(heading, '_') + "\n>   assert 0\nE   assert 0\n\nt.py:3: AssertionError\n";
        else if (!plugin)
            body += ruled(heading, '_') + "contains 1 failed subtest\n";
    const ModuleRecord part = read(body + ruled(printed.closing));
    const std::string call = plugin ? " (passed)" : "";
    const bool has_lines = printed.unittest_has_lines;
    std::vector<std::string> wanted{
        "t.py::test_a[x y] failed" + call + " [m] (i=0)=passed [m] (i=1)=failed",
        "t.py::test_b passed [s]=skipped (k='a (b)')=xfailed",
        std::string("t.py::U::test_c failed (passed)") + (has_lines ? " (i=2)=passed" : "") +
            " (i=3)=failed",
        "t.py::test_d failed (skipped) (<subtest>)=failed",
        std::string("t.py::U::test_e passed") + (has_lines ? " (i=4)=skipped" : "")};
    if (!has_lines) wanted.push_back("t.py::<unnamed skipped> skipped");
    EXPECT_EQ(states(part), wanted);
    EXPECT_EQ(part.cases[0].subcases[1].failure->type, "AssertionError");
    EXPECT_EQ(part.collected, has_lines ? 5 : 6);
    EXPECT_THAT(mismatches(part), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Forms, Subtests, ::testing::ValuesIn(kPrinted),
                         [](const auto& info) { return std::string(info.param.name); });

// More than the lines show is lost lines, and no sub-tests.
TEST(PytestSubtests, CountNoFailureAndNoPassThatNothingShows) {
    const std::string lines =
        "collected 2 items\n\nt.py::test_a SUBSKIPPED(i=1) (no)  [ 50%]\n"
        "t.py::test_a PASSED  [ 50%]\nt.py::test_b PASSED  [100%]\n\n";
    EXPECT_THAT(mismatches(read(lines + ruled("2 passed, 1 skipped in 0.01s"))), IsEmpty());
    EXPECT_THAT(mismatches(read(lines + ruled("2 passed in 0.01s"))), IsEmpty());
    EXPECT_EQ(mismatches(read(lines + ruled("1 failed, 2 passed in 0.01s"))).size(), 1u);
    EXPECT_EQ(mismatches(read(lines + ruled("3 passed, 1 skipped in 0.01s"))).size(), 1u);
}

// A tear-down that skips has a line of its own; so has each sub-test that passes though its test is
// marked with xfail.
TEST(PytestSubtests, FurtherLinesOfATestAddUp) {
    const ModuleRecord part = read(
        "collected 2 items\n\nt.py::test_a PASSED   [ 50%]\nt.py::test_a SKIPPED (late)   [ 50%]\n"
        "t.py::test_b XPASS (known)   [100%]\nt.py::test_b XPASS (known)   [100%]\n\n" +
        ruled("1 passed, 1 skipped, 2 xpassed in 0.01s"));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a skipped (passed)", "t.py::test_b xpassed"));
    EXPECT_EQ(part.cases[0].reason, "late");
    EXPECT_THAT(mismatches(part), IsEmpty());
}

// It looks like the sub-tests': the last outcome is the test's own. pytest 8 has no sub-tests, and
// the second outcome is its tear-down's.
TEST(PytestSubtests, AnUnexpectedPassBeforeAnExpectedFailureIsASubtests) {
    const std::string lines =
        "collected 1 item\n\nt.py::test_a XPASS (known)   [100%]\n"
        "t.py::test_a XPASS (known)   [100%]\nt.py::test_a XFAIL (known)   [100%]\n\n";
    const ModuleRecord part = read(lines + ruled("1 xfailed, 2 xpassed in 0.01s"));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a xfailed"));
    EXPECT_THAT(mismatches(part), ElementsAre(HasSubstr("after XPASS a test has XFAIL")))
        << "a tear-down that breaks after an unexpected pass looks the same";
    const ModuleRecord old = read(
        "platform linux -- Python 3.13.0, pytest-8.4.2\ncollected 1 item\n\n"
        "t.py::test_a XPASS (known)   [100%]\nt.py::test_a XFAIL (known)   [100%]\n\n" +
        ruled("1 xfailed, 1 xpassed in 0.01s"));
    EXPECT_THAT(states(old), ElementsAre("t.py::test_a xpassed"));
    EXPECT_THAT(mismatches(old), IsEmpty());
}

// Workers do not say how many modules skip as a whole: as many as the closing counts beyond lines.
TEST(PytestSubtests, LeaveModulesThatSkipUnderWorkers) {
    const ModuleRecord part = read(
        "1 worker [2 items]\n\n"
        "[gw0] [ 50%] SUBSKIPPED(i='1') t.py::test_a \n[gw0] [ 50%] PASSED t.py::test_a \n"
        "[gw0] [100%] SKIPPED t.py::test_b \n\n" +
        ruled("1 passed, 4 skipped in 0.01s"));
    EXPECT_THAT(states(part),
                ElementsAre("t.py::test_a passed (i='1')=skipped", "t.py::test_b skipped",
                            "t.py::<unnamed skipped> skipped"));
    EXPECT_EQ(part.cases.back().tests, 2);
    EXPECT_THAT(mismatches(part), IsEmpty());
}

// The process ended in the test, whose first sub-tests had gone well.
TEST(PytestSubtests, EndNoTestThatBreaksOff) {
    const ModuleRecord part = read(
        "collected 1 item\n\nt.py::test_a SUBPASSED(i=1)  [100%]\n"
        "t.py::test_a SUBFAILED(i=2)  [100%]\n"
        "Fatal Python error: Segmentation fault\n");
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a crashed (i=1)=passed (i=2)=failed"));
}

// The last attempt decides. The closing counts each pass, also that of an attempt whose tear-down
// broke, but no sub-test of an earlier attempt that failed.
TEST(PytestReruns, TheLastAttemptDecides) {
    const std::string_view order =
        "collected 6 items\n\n"
        "t.py::test_never RERUN                  [ 16%]\n"
        "t.py::test_never FAILED                 [ 16%]\n"
        "t.py::test_second RERUN                 [ 33%]\n"
        "t.py::test_second PASSED                [ 33%]\n"
        "t.py::test_tear PASSED                  [ 50%]\n"
        "t.py::test_tear RERUN                   [ 50%]\n"
        "t.py::test_tear PASSED                  [ 50%]\n"
        "t.py::test_worse PASSED                 [ 66%]\n"
        "t.py::test_worse RERUN                  [ 66%]\n"
        "t.py::test_worse FAILED                 [ 66%]\n"
        "t.py::test_sub SUBFAILED[m] (i=0)       [ 83%]\n"
        "t.py::test_sub SUBSKIPPED[m] (i=1) (no) [ 83%]\n"
        "t.py::test_sub RERUN                    [ 83%]\n"
        "t.py::test_sub SUBPASSED[m] (i=0)       [ 83%]\n"
        "t.py::test_sub SUBSKIPPED[m] (i=1) (no) [ 83%]\n"
        "t.py::test_sub PASSED                   [ 83%]\n"
        "t.py::test_setup RERUN                  [100%]\n"
        "t.py::test_setup ERROR                  [100%]\n\n";
    const std::string sections =
        ruled("ERRORS") + ruled("ERROR at setup of test_setup", '_') + "E   OSError: no\n" +
        ruled("FAILURES") + ruled("test_never", '_') + "E   assert 0\n" + ruled("test_worse", '_') +
        "E   assert 1\n" + ruled("short test summary info") +
        "FAILED t.py::test_never - assert 0\nFAILED t.py::test_worse - assert 1\n"
        "ERROR t.py::test_setup - OSError: no\n" +
        ruled("2 failed, 5 passed, 2 skipped, 1 error, 1 subtests passed, 6 rerun in 0.10s");
    const ModuleRecord part = read(fmt::format("{}{}", order, sections));
    EXPECT_THAT(
        states(part),
        ElementsAre("t.py::test_never failed after failed", "t.py::test_second passed after failed",
                    "t.py::test_tear passed after errored", "t.py::test_worse failed after errored",
                    "t.py::test_sub passed [m] (i=0)=passed [m] (i=1)=skipped after failed",
                    "t.py::test_setup errored after failed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
    const std::vector<ModuleRecord> attempts = split_attempts(part);
    ASSERT_EQ(attempts.size(), 2u);
    EXPECT_EQ(attempts[0].cases[4].id, "t.py::test_sub");
    EXPECT_THAT(states(attempts[1]), Contains("t.py::test_second passed"));
}

// With -rA a summary has each pass, then each failure.
TEST(PytestReruns, AFailureInASummaryDecides) {
    const ModuleRecord part =
        read("collected 1 item\n\nt.py .RF  [100%]\n\n" + ruled("FAILURES") +
             ruled("test_worse", '_') + "E   assert 1\n" + ruled("short test summary info") +
             "PASSED t.py::test_worse\nFAILED t.py::test_worse - assert 1\n" +
             ruled("1 failed, 1 rerun in 0.10s"));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_worse failed"));
}

struct Death {
    std::string_view line, heading, text, reason;
};

class Deaths : public ::testing::TestWithParam<Death> {};

// With a line for each test, and with dots.
TEST_P(Deaths, AreOfTheTest) {
    const auto& [line, heading, text, reason] = GetParam();
    const std::string end = "\n" + ruled("FAILURES") + ruled(heading, '_') + std::string(text) +
                            "\n" + ruled("short test summary info") +
                            "FAILED t.py::A::B::test_it[it's] - gone\n" +
                            ruled("1 failed in 0.10s");
    for (const std::string_view results :
         {line, std::string_view("collected 1 item\n\nt.py F\n")}) {
        const ModuleRecord part = read(std::string(results) + end);
        EXPECT_THAT(states(part), ElementsAre("t.py::A::B::test_it[it's] crashed"));
        EXPECT_EQ(part.cases[0].reason, reason);
        EXPECT_EQ(part.cases[0].failure->message, reason);
        EXPECT_THAT(mismatches(part), IsEmpty());
    }
}

INSTANTIATE_TEST_SUITE_P(
    Plugins, Deaths,
    ::testing::Values(
        Death{"1 worker [1 item]\n\n[gw0] [100%] FAILED t.py::A::B::test_it[it's] \n", "t.py",
              "[gw0] linux -- Python 3.13.0 /bin/python\n"
              "worker 'gw0' crashed while running \"t.py::A::B::test_it[it's]\"",
              "worker 'gw0' crashed while running \"t.py::A::B::test_it[it's]\""},
        Death{"collected 1 item\n\nt.py::A::B::test_it[it's] FAILED [100%]\n", "A.B.test_it[it's]",
              "/src/t.py:9: running the test CRASHED with signal 11 (SIGSEGV)",
              "running the test CRASHED with signal 11 (SIGSEGV)"},
        Death{"collected 1 item\n\nt.py::A::B::test_it[it's] FAILED [100%]\n", "A.B.test_it[it's]",
              "/src/t.py:9: running the test EXITED with status 7",
              "running the test EXITED with status 7"}));

// With a line for each test, and with dots.
TEST(PytestTimeout, EndsTheTestThatRan) {
    const std::string dump =
        "+++++ Timeout +++++\n~~~ Stack of MainThread (1) ~~~\n  File \"t.py\", line 4, in "
        "test_b\n    time.sleep(60)\n+++++ Timeout +++++\n";
    const ModuleRecord lines =
        read("collected 2 items\n\nt.py::test_a PASSED   [ 50%]\nt.py::test_b " + dump);
    EXPECT_THAT(states(lines), ElementsAre("t.py::test_a passed", "t.py::test_b timed_out"));
    EXPECT_EQ(lines.cases[1].reason, "timed out by pytest-timeout");
    EXPECT_THAT(states(read("collected 2 items\n\nt.py ." + dump)),
                Contains(::testing::HasSubstr("<unnamed> timed_out")));
}

}  // namespace
}  // namespace compat::parsers::pytest_subtests_test
