// Whole files of what pytest prints that others made: forms beside those of the golden sessions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"
#include "parsers/import/importers.h"
#include "parsers/text.h"
#include "runner/analysis/accounting.h"

namespace compat::parsers::pytest_import_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<ModuleRecord> read(std::string_view text) {
    std::vector<ModuleRecord> parts;
    EXPECT_THAT(read_result_file(Dialect::pytest_text, {"some.log", text},
                                 [&](ModuleRecord part) { parts.push_back(std::move(part)); }),
                IsEmpty());
    return parts;
}

ModuleRecord read_one(std::string_view text) {
    auto parts = read(text);
    EXPECT_EQ(parts.size(), 1u);
    return parts.empty() ? ModuleRecord{} : std::move(parts.front());
}

// "a.py::test_x passed", of each case.
std::vector<std::string> states(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const CaseRecord& c : part.cases)
        out.push_back(fmt::format("{} {}", c.id, kStateNames[static_cast<size_t>(c.state)]));
    return out;
}

std::vector<std::string> mismatches(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const auto& mismatch : analysis::account(part).mismatches) out.push_back(mismatch.text());
    return out;
}

// Something is in doubt, and the counts do not add up because of it.
bool is_ambiguous(std::string_view text) {
    bool found = false;
    const auto is_it = [](std::string_view said) {
        return said.find(kAmbiguous) != std::string_view::npos;
    };
    const auto of_file =
        read_result_file(Dialect::pytest_text, {"some.log", text}, [&](const ModuleRecord& part) {
            const auto said = mismatches(part);
            found = found || std::any_of(said.begin(), said.end(), is_it);
        });
    return found || std::any_of(of_file.begin(), of_file.end(),
                                [&](const Diagnostic& said) { return is_it(said.message); });
}

std::string session(std::string_view body) {
    return fmt::format("{:=^80}\nplatform linux -- Python 3.11.7, pytest-8.4.2\n{}",
                       " test session starts ", body);
}

// As wide as the terminal of session().
std::string ruled(std::string_view text, char rule = '=') {
    const size_t rest = text.size() > 76 ? 2 : 78 - text.size();
    return fmt::format("{} {} {}\n", std::string(rest / 2, rule), text,
                       std::string(rest - rest / 2, rule));
}

// `console_output_style`: count and times, and without.
class Progress : public ::testing::TestWithParam<std::array<std::string_view, 3>> {};

TEST_P(Progress, IsTakenOffVerboseLines) {
    const auto& [a, b, c] = GetParam();
    const ModuleRecord part =
        read_one(session(fmt::format("collecting ... collected 3 items\n\n"
                                     "t.py::test_a PASSED                    {}\n"
                                     "t.py::test_p[2/3] FAILED               {}\n"
                                     "t.py::test_s SKIPPED (no 3s [1/2] gpu) {}\n\n",
                                     a, b, c) +
                         ruled("1 failed, 1 passed, 1 skipped in 0.01s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_p[2/3] failed",
                                          "t.py::test_s skipped"));
    EXPECT_EQ(part.cases[2].reason, "no 3s [1/2] gpu");
    EXPECT_THAT(mismatches(part), IsEmpty());
}

TEST_P(Progress, IsTakenOffLinesOfWorkers) {
    const auto& [a, b, c] = GetParam();
    const ModuleRecord part = read_one(session(fmt::format("2 workers [3 items]\n\n"
                                                           "[gw0] {} PASSED t.py::test_a \n"
                                                           "[gw1] {} FAILED t.py::test_b \n"
                                                           "[gw0] {} PASSED t.py::test_c[x y] \n\n",
                                                           a, b, c) +
                                               ruled("1 failed, 2 passed in 0.01s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_b failed",
                                          "t.py::test_c[x y] passed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(
    Styles, Progress,
    ::testing::Values(std::array<std::string_view, 3>{"[ 33%]", "[ 66%]", "[100%]"},
                      std::array<std::string_view, 3>{"[ 1/12]", "[10/12]", "[12/12]"},
                      std::array<std::string_view, 3>{"4.749ms", "804.9us", "12.300s"},
                      std::array<std::string_view, 3>{"1m 30s", "2h 5m", "1.200s"},
                      std::array<std::string_view, 3>{"", "", ""}));

TEST(PytestImport, FilesInAFolderWithABlank) {
    const ModuleRecord part = read_one(
        session("collecting ... collected 3 items\n\n"
                "a b/test_s.py::test_1 PASSED          [ 33%]\n"
                "a b/test_s.py::test_2 FAILED          [ 66%]\n"
                "error: std::vector FAILED\n"
                "test_n.py::test_3 PASSED              [100%]\n\n" +
                ruled("FAILURES") + ruled("test_2", '_') +
                "\n>   def test_2(): assert 0\nE   assert 0\n\n"
                "a b/test_s.py:2: AssertionError\n" +
                ruled("short test summary info") + "FAILED a b/test_s.py::test_2 - assert 0\n" +
                ruled("1 failed, 2 passed in 0.02s")));
    EXPECT_THAT(states(part),
                ElementsAre("a b/test_s.py::test_1 passed", "a b/test_s.py::test_2 failed",
                            "test_n.py::test_3 passed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
}

// The lines of two tests are lost.
TEST(PytestImport, TheSummaryTellsOfATestWhoseLineIsLost) {
    const std::string text = session(
        "collecting ... collected 3 items\n\nt.py::test_a PASSED          [ 25%]\n" +
        ruled("short test summary info") + "FAILED t.py::test_c - ValueError: no\n" +
        "ERROR t.py::test_d - RuntimeError: su\n" + ruled("1 failed, 1 passed, 1 error in 0.02s"));
    const ModuleRecord part = read_one(text);
    EXPECT_THAT(states(part),
                ElementsAre("t.py::test_a passed", "t.py::test_c failed", "t.py::test_d errored"));
    EXPECT_EQ(part.cases[1].failure->type, "ValueError");
    EXPECT_TRUE(is_ambiguous(text));
}

TEST(PytestImport, ASummaryThatAFailingTestPrintedEndsNothing) {
    const std::string first = session(
        "collected 3 items\n\ntest_o.py .F.         [100%]\n\n" + ruled("FAILURES") +
        ruled("test_sum", '_') + "\n>   assert 0\nE   assert 0\n\n" +
        "test_o.py:3: AssertionError\n" + ruled("Captured stdout call", '-') +
        ruled("5 passed in 0.10s") + "3 passed in 0.10s\n" + ruled("short test summary info") +
        "FAILED test_o.py::test_sum - assert 0\n" + ruled("1 failed, 2 passed in 0.03s"));
    const auto parts = read(
        first + session("collected 1 item\n\nu.py .   [100%]\n\n" + ruled("1 passed in 0.01s")) +
        ".s   [100%]\n1 passed, 1 skipped in 0.01s\n");
    ASSERT_EQ(parts.size(), 3u);
    EXPECT_THAT(states(parts[0]),
                ElementsAre("test_o.py::test_sum failed", "test_o.py::<unnamed passed> passed"));
    EXPECT_EQ(parts[0].cases[1].reason, "2 passed, unnamed");
    EXPECT_EQ(parts[2].cases[0].reason, "1 passed, unnamed");
    EXPECT_EQ(parts[2].cases[1].reason, "1 skipped, unnamed");
    for (const ModuleRecord& part : parts) EXPECT_THAT(mismatches(part), IsEmpty());
}

TEST(PytestImport, ATestWhoseLineIsLostIsInDoubt) {
    const std::string lines =
        session("collecting ... collected 4 items\n\nt.py::test_a PASSED\nt.py::test_b PASSED\n");
    EXPECT_TRUE(is_ambiguous(lines + ruled("3 passed in 1.0s")));
    EXPECT_TRUE(is_ambiguous(lines + ruled("2 passed in 1.0s")));
    const ModuleRecord stopped =
        read_one(lines + ruled("stopping after 1 failures", '!') + ruled("2 passed in 1.0s"));
    ASSERT_EQ(stopped.cases.size(), 3u);
    EXPECT_EQ(stopped.cases[2].reason, "2 not run, unnamed; stopping after 1 failures");
    EXPECT_THAT(mismatches(stopped), IsEmpty());
}

TEST(PytestImport, TestsThatAreCountedAndNotNamedAreARowForEachState) {
    const ModuleRecord part = read_one(
        session("collected 8 items\n\nt.py ..Fs.xXE     [100%]\n\n" + ruled("FAILURES") +
                ruled("test_c", '_') + "\n>   assert 0\nE   assert 0\n\nt.py:3: AssertionError\n" +
                ruled("short test summary info") + "FAILED t.py::test_c - assert 0\n" +
                "ERROR t.py::test_h - RuntimeError: no\n" +
                ruled("1 failed, 3 passed, 1 skipped, 1 xfailed, 1 xpassed, 1 error in 0.02s")));
    EXPECT_THAT(states(part),
                ElementsAre("t.py::test_c failed", "t.py::test_h errored",
                            "t.py::<unnamed passed> passed", "t.py::<unnamed skipped> skipped",
                            "t.py::<unnamed xfailed> xfailed", "t.py::<unnamed xpassed> xpassed"));
    EXPECT_EQ(part.cases[2].reason, "3 passed, unnamed");
    EXPECT_EQ(part.cases[2].tests, 3);
    EXPECT_EQ(part.collected, 8);
    EXPECT_TRUE(part.finished);
    EXPECT_THAT(mismatches(part), IsEmpty());
    EXPECT_THAT(part.diagnostics, ::testing::Contains(::testing::Field(
                                      &Diagnostic::message, ::testing::HasSubstr("--junit-xml"))));
}

// As a `pytest -q` that passes is.
TEST(PytestImport, AClosingLineAloneIsASession) {
    const auto parts = read("1 failed, 2 passed in 0.10s\n3 passed in 0.20s\n");
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_THAT(states(parts[0]), ElementsAre("some.log::<unnamed passed> passed",
                                              "some.log::<unnamed failed> failed"));
    EXPECT_EQ(parts[0].cases[0].reason, "2 passed, unnamed");
    EXPECT_THAT(states(parts[1]), ElementsAre("some.log::<unnamed passed> passed"));
    for (const ModuleRecord& part : parts) EXPECT_THAT(mismatches(part), IsEmpty());
}

// More of a test's outcomes than the closing counts.
TEST(PytestImport, MoreNamesThanTheClosingCountsAreInDoubt) {
    EXPECT_TRUE(is_ambiguous(
        session("collected 2 items\n\nt.py FF     [100%]\n\n" + ruled("short test summary info") +
                "FAILED t.py::test_a - assert 0\nFAILED t.py::test_b - assert 0\n" +
                ruled("1 failed, 1 passed in 0.02s"))));
    EXPECT_TRUE(is_ambiguous(
        session("collected 3 items\n\nt.py ..     [100%]\n\n" + ruled("2 passed in 0.02s"))));
}

// With -s, the outcome stands on a line of its own where the test printed.
TEST(PytestImport, AnOutcomeBehindWhatATestPrinted) {
    const std::string lines =
        "collecting ... collected 2 items\n\nt.py::test_a all went well\nPASSED\n"
        "t.py::test_b some FAILEDx\nFAILED\n";
    const ModuleRecord part = read_one(session(lines + ruled("1 failed, 1 passed in 0.02s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_b failed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
    EXPECT_TRUE(
        is_ambiguous(session("collecting ... collected 1 item\n\n"
                             "t.py::test_a epoch 1PASSED\n" +
                             ruled("1 passed in 0.02s"))));
}

// Only the number of the tests without a line is known.
TEST(PytestImport, ASessionThatDies) {
    const std::string verbose = session(
        "collecting ... collected 1 item\n\nt.py::a PASSED [100%]\n" + ruled("1 passed in 0.01s"));
    for (const std::string cut : {"..bash: line 1: 28504 Killed     python -m pytest -q\n",
                                  "..Killed\n", "..\n/bin/ci.sh: line 7: 12 Terminated  pytest\n"})
        for (const std::string& whole : {verbose, std::string("... [100%]\n3 passed in 0.1s\n")})
            for (const std::string& text : {cut + whole, whole + cut}) {
                const auto parts = read(text);
                ASSERT_EQ(parts.size(), 2u) << text;
                const ModuleRecord& part = parts[text.starts_with(cut) ? 0 : 1];
                ASSERT_EQ(part.cases.size(), 1u) << text;
                EXPECT_EQ(part.cases[0].state, State::crashed) << text;
                EXPECT_THAT(mismatches(part), ElementsAre(::testing::HasSubstr("breaks off")));
            }
    const ModuleRecord counted = read_one(
        session("collected 4 items\n\nt.py ..sh: line 1: 9 Killed                pytest\n"));
    EXPECT_THAT(states(counted),
                ElementsAre("some.log::<unnamed> crashed", "some.log::<unnamed not run> not_run"));
    EXPECT_THAT(counted.diagnostics,
                ::testing::Contains(::testing::Field(&Diagnostic::message,
                                                     ::testing::HasSubstr("3 not run, unnamed"))));
}

constexpr std::string_view kDump =
    "Fatal Python error: Segmentation fault\n\n"
    "Current thread 0x00007f3cd8b3cb80 (most recent call first):\n"
    "  File \"/home/me/t.py\", line 3 in test_b\n"
    "  File \"<frozen runpy>\", line 198 in _run_module_as_main\n";

TEST(PytestImport, ADeathInATestWithALineOfItsOwn) {
    const ModuleRecord part =
        read_one(session(fmt::format("collecting ... collected 3 items\n\n"
                                     "t.py::test_a PASSED    [ 33%]\n"
                                     "t.py::test_b {}",
                                     kDump)));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_b crashed",
                                          "t.py::<unnamed not run> not_run"));
    EXPECT_EQ(part.cases[1].reason, "SIGSEGV");
    EXPECT_EQ(part.cases[2].reason, "1 not run, unnamed; the log breaks off");
    EXPECT_EQ(part.outcome, ModuleOutcome::crashed);
    EXPECT_EQ(part.collected, 3);
}

TEST(PytestImport, ADeathThatTheServiceTellsByItsExitCode) {
    for (const auto& [words, signal] :
         {std::pair{"ERROR: Job failed: exit code 143", "SIGTERM"},
          std::pair{"##[error]Process completed with exit code 139.", "SIGSEGV"},
          std::pair{"ERROR: script returned exit code 134", "SIGABRT"}}) {
        const ModuleRecord part =
            read_one(session(fmt::format("collecting ... collected 2 items\n\n"
                                         "t.py::test_a PASSED    [ 50%]\n"
                                         "t.py::test_b \n{}\n",
                                         words)));
        EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_b crashed"));
        EXPECT_EQ(part.cases[1].reason, signal);
    }
    const ModuleRecord failed =
        read_one(session("collecting ... collected 2 items\n\nt.py::test_a PASSED    [ 50%]\n"
                         "t.py::test_b \nERROR: Job failed: exit code 1\n"));
    EXPECT_EQ(failed.cases[1].reason, "the log breaks off");
}

// A death in the output of a test that ended is not the session's.
TEST(PytestImport, ALogThatBreaksOffIsNoDeath) {
    const ModuleRecord part =
        read_one(session("collecting ... collected 3 items\n\n"
                         "t.py::test_a The child: Segmentation fault\nPASSED\n"
                         "t.py::test_b some outp"));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_b not_run",
                                          "t.py::<unnamed not run> not_run"));
    EXPECT_EQ(part.cases[1].reason, "the log breaks off");
}

TEST(PytestImport, ATestFailedForTheReasonOfItsSubtests) {
    ModuleRecord part = read_one(session(
        "collected 1 item\n\ntest_q.py uF     [100%]\n\n" + ruled("FAILURES") +
        ruled("test_2 (i=1)", '_') +
        "\n>       f()\nE       RuntimeError: CUDA out of memory\n\n"
        "test_q.py:4: RuntimeError\n" +
        ruled("test_2", '_') + "contains 1 failed subtest\n" + ruled("short test summary info") +
        "SUBFAILED(i=1) test_q.py::test_2 - RuntimeError: CUDA out of memory\n"
        "FAILED test_q.py::test_2 - contains 1 failed subtest\n" +
        ruled("2 failed in 0.03s")));
    diagnose(part);
    ASSERT_EQ(part.cases.size(), 1u);
    EXPECT_EQ(part.cases[0].failure->message, "contains 1 failed subtest");
    EXPECT_EQ(part.cases[0].failure->diagnosis->cause, Cause::resource);
    part.cases[0].subcases.clear();
    diagnose(part);
    EXPECT_EQ(part.cases[0].failure->diagnosis->rule, "failed-subtests");
}

std::string repeated(std::string_view text, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) out += text;
    return out;
}

TEST(PytestImport, ASummaryThatAFailingTestPrintedEndsNoQuietSession) {
    const std::string quiet = ".F     [100%]\n" + ruled("FAILURES") + ruled("test_sum", '_') +
                              "\n>   assert 0\nE   assert 0\n\ntest_o.py:3: AssertionError\n" +
                              ruled("Captured stdout call", '-') + ruled("5 passed in 0.10s") +
                              ruled("short test summary info") +
                              "FAILED test_o.py::test_sum - assert 0\n"
                              "1 failed, 1 passed in 0.03s\n";
    const auto parts = read(quiet + ".s   [100%]\n1 passed, 1 skipped in 0.01s\n" + quiet);
    ASSERT_EQ(parts.size(), 3u);
    for (const ModuleRecord& part : parts) {
        EXPECT_EQ(part.collected, 2);
        EXPECT_THAT(mismatches(part), IsEmpty());
    }
}

TEST(PytestImport, WhatLooksLikeSetupShowAndNamesNoTest) {
    const auto part = read_one(session("collecting ... collected 1 item\n\n"
                                       "a.py::test_x PASSED [100%]\n"
                                       "   \x81@p (fixtures used: x::y) PASSED\n\n") +
                               ruled("1 passed in 0.02s"));
    EXPECT_THAT(states(part), ElementsAre("a.py::test_x passed"));
}

TEST(PytestImport, WordsOfADeathInAReasonOrAnId) {
    const auto part =
        read_one(session("collecting ... collected 2 items\n\n"
                         "a.py::test_b SKIPPED (Fatal Python error: on CI) [ 50%]\n"
                         "a.py::test_c[Fatal Python error: Aborted] PASSED [100%]\n\n") +
                 ruled("1 passed, 1 skipped in 0.02s"));
    EXPECT_THAT(states(part), ElementsAre("a.py::test_b skipped",
                                          "a.py::test_c[Fatal Python error: Aborted] passed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
}

TEST(PytestImport, WhatAWorkerBeginsStandsInFrontOfWhatAnotherPrints) {
    const ModuleRecord part =
        read_one(session("2 workers [3 items]\nscheduling tests via LoadScheduling\n\n"
                         "t.py::test_a /home/me/t.py:3: UserWarning: slow\n"
                         "t.py::T::test_1 a b \n"
                         "t.py::T::test_1 a c \n"
                         "[gw0] [ 33%] PASSED t.py::test_a \n"
                         "[gw1] [ 66%] PASSED t.py::T::test_1 a b \n"
                         "[gw0] [100%] FAILED t.py::T::test_1 a c \n\n" +
                         ruled("1 failed, 2 passed in 0.01s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::T::test_1 a b passed",
                                          "t.py::T::test_1 a c failed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
}

// A worker that dies prints on the line of a test that another one ended.
TEST(PytestImport, WhatADyingWorkerPrintsIsNoPartOfAName) {
    const ModuleRecord part =
        read_one(session("2 workers [2 items]\n\n"
                         "[gw0] [ 50%] PASSED t.py::test_a Fatal Python error: Segmentation fault\n"
                         "[gw1] [100%] PASSED t.py::test_b[Fatal Python error: x] \n\n" +
                         ruled("2 passed in 0.01s")));
    EXPECT_THAT(states(part),
                ElementsAre("t.py::test_a passed", "t.py::test_b[Fatal Python error: x] passed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
}

// pytest of tests that run unittest.
TEST(PytestImport, ASessionWhoseTestsRunUnittest) {
    const std::string inner = "test_ok (t.Inner.test_ok) ... ok\n\n" + std::string(70, '-') +
                              "\nRan 1 test in 0.001s\n\nOK\n";
    const std::string log = session("collecting ... collected 1 item\n\nt.py::test_a " + inner +
                                    "PASSED\n\n" + ruled("1 passed in 0.04s"));
    EXPECT_EQ(recognise(signs_in(log)), Dialect::pytest_text);
    EXPECT_EQ(recognise(signs_in(inner)), Dialect::unittest_text);
    const ModuleRecord part = read_one(log);
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed"));
    EXPECT_THAT(mismatches(part), IsEmpty());
    // One after the other: whichever is read, the other one is named.
    const Signs both = signs_in(inner + "...F [100%]\n1 failed, 3 passed in 0.1s\n");
    EXPECT_EQ(others_in(both, *recognise(both)).size(), 1u);
}

// Quadratic, each takes minutes.
TEST(PytestImport, LongLinesAndManySubtestsTakeNoLonger) {
    const std::string words = repeated(" PASSED [x", 100'000);
    EXPECT_EQ(read_one(session("t.py::test_a" + words + "\n")).cases.size(), 1u);
    const std::string heading = repeated("a. b", 100'000);
    EXPECT_EQ(read_one(session("collected 1 item\n\n" + ruled("FAILURES") + ruled(heading, '_') +
                               "E   assert 0\n" + ruled("1 failed in 0.01s")))
                  .cases.size(),
              1u);
    std::string many = ruled("short test summary info");
    for (int i = 0; i < 40'000; ++i) many += fmt::format("SUBFAILED(i={}) t.py::test_a - no\n", i);
    const ModuleRecord part = read_one(session("t.py F\n" + many + ruled("40000 failed in 0.01s")));
    EXPECT_EQ(part.cases[0].subcases.size(), 40'000u);
}

}  // namespace
}  // namespace compat::parsers::pytest_import_test
