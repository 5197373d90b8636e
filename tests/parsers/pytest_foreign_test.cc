// Whole files of what pytest prints that others made: forms beside those of the golden sessions.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/foreign.h"
#include "runner/analysis/accounting.h"

namespace compat::parsers {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<ModuleRecord> read(std::string_view text) {
    std::vector<ModuleRecord> parts;
    EXPECT_THAT(read_foreign(Dialect::pytest_text, {"some.log", text},
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

std::string session(std::string_view body) {
    return fmt::format("{:=^80}\nplatform linux -- Python 3.11.7, pytest-8.4.2\n{}",
                       " test session starts ", body);
}

std::string ruled(std::string_view text, char rule = '=') {
    return fmt::format("{1} {0} {1}\n", text, std::string(20, rule));
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

TEST_P(Progress, IsTakenOffLinesOfCharacters) {
    const auto& [a, b, c] = GetParam();
    const ModuleRecord part = read_one(session(fmt::format("collected 3 items\n\n"
                                                           "t.py ..   {}\n"
                                                           "u.py s    {}\n\n",
                                                           a, b) +
                                               ruled("2 passed, 1 skipped in 0.01s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::<unnamed 1> passed", "t.py::<unnamed 2> passed",
                                          "u.py::<unnamed 3> skipped"));
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

TEST(PytestForeign, FilesInAFolderWithABlank) {
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

// The lines of two tests and the heading above the sections are lost.
TEST(PytestForeign, TheSummaryTellsOfATestWhoseLineIsLost) {
    const ModuleRecord part =
        read_one(session("collecting ... collected 4 items\n\n"
                         "t.py::test_a PASSED          [ 25%]\n"
                         "t.py::test_b some output\n" +
                         ruled("short test summary info") +
                         "FAILED t.py::test_b - ValueError: no\n"
                         "FAILED t.py::test_c - assert 0\n"
                         "ERROR t.py::test_d - RuntimeError: su\n" +
                         ruled("2 failed, 1 passed, 1 error in 0.02s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_a passed", "t.py::test_b failed",
                                          "t.py::test_c failed", "t.py::test_d errored"));
    EXPECT_EQ(part.cases[1].failure->type, "ValueError");
    EXPECT_THAT(mismatches(part), IsEmpty());
}

TEST(PytestForeign, AnOutcomeBehindWhatATestPrinted) {
    const ModuleRecord part = read_one(
        session("collecting ... collected 6 items\n\n"
                "t.py::test_1 epoch 1PASSED\n"
                "t.py::test_2 first check FAILEDx\nsecond check FAILED\nall went well\nPASSED\n"
                "t.py::test_3 loss\n0.5FAILED\n"
                "t.py::test_4 well.SKIPPED (no (big) gpu)\n"
                "t.py::test_5[a b] was:FAILED\nPASSED\n"
                "t.py::test_6 doneERROR\n\n" +
                ruled("1 failed, 3 passed, 1 skipped, 1 error in 0.02s")));
    EXPECT_THAT(states(part), ElementsAre("t.py::test_1 passed", "t.py::test_2 passed",
                                          "t.py::test_3 failed", "t.py::test_4 skipped",
                                          "t.py::test_5[a b] passed", "t.py::test_6 errored"));
    EXPECT_EQ(part.cases[3].reason, "no (big) gpu");
    EXPECT_THAT(mismatches(part), IsEmpty());
}

TEST(PytestForeign, AClosingThatAFailingTestPrintedEndsNothing) {
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
                ElementsAre("test_o.py::test_sum failed", "test_o.py::<unnamed 1> passed",
                            "test_o.py::<unnamed 2> passed"));
    for (const ModuleRecord& part : parts) EXPECT_THAT(mismatches(part), IsEmpty());
}

}  // namespace
}  // namespace compat::parsers
