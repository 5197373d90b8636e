// Whole files of unittest's text that others made: several runs, many modules, not verbose, with
// GitHub's times and colours, of unittest-xml-reporting.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "parsers/import/importers.h"
#include "parsers/text.h"
#include "parsers/unittest_header.h"
#include "runner/analysis/accounting.h"
#include "tests/parsers/golden_files.h"

namespace compat::parsers::unittest_import_test {
namespace {

using ::testing::ElementsAre;
using testing::Golden;
using ::testing::IsEmpty;

struct Read {
    std::vector<ModuleRecord> parts;
    std::vector<Diagnostic> diagnostics;
};

Read read(std::string_view text, std::string_view name = "some.log") {
    Read out;
    EXPECT_EQ(recognise(signs_in(text)), Dialect::unittest_text);
    out.diagnostics =
        read_result_file(Dialect::unittest_text, {name, text},
                         [&](ModuleRecord part) { out.parts.push_back(std::move(part)); });
    return out;
}

// Something is in doubt, and the counts do not add up because of it.
bool is_ambiguous(const Read& found) {
    const auto begins = [](std::string_view said) {
        return said.find(kAmbiguous) != std::string_view::npos;
    };
    for (const Diagnostic& said : found.diagnostics)
        if (begins(said.message)) return true;
    for (const ModuleRecord& part : found.parts)
        for (const auto& mismatch : analysis::account(part).mismatches)
            if (begins(mismatch.text())) return true;
    return false;
}

std::vector<std::string> mismatches(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const auto& mismatch : analysis::account(part).mismatches) out.push_back(mismatch.text());
    return out;
}

// As in a log of GitHub's, with colours.
std::string wrapped(std::string_view text) {
    std::string out = "\xEF\xBB\xBF";
    for (Lines lines(text); lines.next();)
        out += fmt::format("2024-05-01T12:34:56.1234567Z \x1b[1m{}\x1b[0m\n", lines.line());
    return out;
}

// Tests that a fixture skipped and no line names have a row, so that the totals are the closing's.
bool is_unnamed_fixture(const CaseRecord& c) { return c.name.starts_with("<unnamed") && c.pseudo; }

class WholeFiles : public ::testing::TestWithParam<std::string> {};

// The logs of one version's golden modules, one after the other: each run is what it is alone.
TEST_P(WholeFiles, EachRunIsReadAsAlone) {
    std::string text;
    std::vector<ModuleRecord> alone;
    for (const Golden& golden : testing::goldens("unittest")) {
        if (golden.version != GetParam() || golden.module == "test_broken_import.py" ||
            golden.module == "test_skipped_import.py")
            continue;
        const std::string log = golden.read(".log");
        ModuleRecord record =
            read_attempt_log(Framework::unittest, log, golden.end(), golden.module);
        std::erase_if(record.cases, is_unnamed_fixture);
        if (!record.closing || record.cases.empty()) continue;
        alone.push_back(std::move(record));
        text += log;
    }
    ASSERT_GT(alone.size(), 3u);
    for (const std::string& form : {text, wrapped(text)}) {
        const Read found = read(form);
        EXPECT_THAT(found.diagnostics, IsEmpty());
        ASSERT_EQ(found.parts.size(), alone.size());
        for (size_t i = 0; i < alone.size(); ++i) {
            ModuleRecord part = found.parts[i];
            EXPECT_THAT(mismatches(part), IsEmpty()) << part.path;
            EXPECT_EQ(part.path, alone[i].path);
            EXPECT_EQ(part.closing, alone[i].closing);
            std::erase_if(part.cases, is_unnamed_fixture);
            EXPECT_EQ(part.cases, alone[i].cases) << part.path;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Real, WholeFiles, ::testing::Values("3.9.18", "3.13.0"),
                         [](const auto& row) {
                             std::string name = row.param;
                             std::replace(name.begin(), name.end(), '.', '_');
                             return name;
                         });

std::string closing(std::string_view ran, std::string_view verdict) {
    return fmt::format("\n{}\nRan {} in 0.001s\n\n{}\n", kRule, ran, verdict);
}

std::string section(std::string_view title) {
    return fmt::format(
        "{}\n{}\n{}\nTraceback (most recent call last):\n"
        "  File \"m.py\", line 3, in test\nAssertionError: no\n",
        kDoubleRule, title, kRule);
}

// The states of each part's tests, in their order.
std::vector<std::string> states(const Read& found) {
    std::vector<std::string> out;
    for (const ModuleRecord& part : found.parts) {
        out.emplace_back();
        for (const CaseRecord& c : part.cases)
            out.back() += fmt::format("{}{}", out.back().empty() ? "" : " ", name_of(c.state));
    }
    return out;
}

TEST(UnittestImport, OneRunOverManyModules) {
    const Read found = read(
        "test_x (tests.test_a.A.test_x) ... ok\n"
        "test_x (tests.test_b.B.test_x) ... skipped 'no'\n" +
        closing("2 tests", "OK (skipped=1)"));
    ASSERT_EQ(found.parts.size(), 1u);
    EXPECT_EQ(found.parts[0].path, "");
    EXPECT_EQ(found.parts[0].cases[0].id, "tests/test_a.py::A::test_x");
    EXPECT_EQ(found.parts[0].cases[1].id, "tests/test_b.py::B::test_x");
    EXPECT_THAT(mismatches(found.parts[0]), IsEmpty());
}

TEST(UnittestImport, TotalsThatDoNotAddUpShow) {
    const Read found = read("test_x (m.A.test_x) ... ok\ntest_y (m.A.test_y) ... FAIL\n" +
                            closing("3 tests", "FAILED (failures=2)"));
    ASSERT_EQ(found.parts.size(), 1u);
    EXPECT_THAT(mismatches(found.parts[0]),
                ElementsAre("ran: 2 by its tests, 3 by the framework's closing line",
                            "failures: 1 by its tests, 2 by the framework's closing line",
                            ::testing::HasSubstr("ambiguous: ")));
}

TEST(UnittestImport, ARunThatBreaksOffIsOneOfItsOwn) {
    const Read found = read(
        "test_x (m.A.test_x) ... ok\ntest_y (m.A.test_y) ... Segmentation "
        "fault\n"
        "test_z (n.A.test_z) ... ok\ntest_w (n.A.test_w) ... ok\n" +
        closing("2 tests", "OK"));
    ASSERT_EQ(found.parts.size(), 2u);
    EXPECT_EQ(found.parts[0].path, "m.py");
    EXPECT_FALSE(found.parts[0].finished);
    EXPECT_EQ(found.parts[0].cases[1].state, State::crashed);
    EXPECT_EQ(found.parts[0].cases[1].reason, "SIGSEGV");
    EXPECT_FALSE(mismatches(found.parts[0]).empty());
    EXPECT_EQ(found.parts[1].cases.size(), 2u);
    EXPECT_THAT(mismatches(found.parts[1]), IsEmpty());
}

TEST(UnittestImport, OfTwoTestsOnOneLineTheFirstHasNoOutcome) {
    const std::string line = "test_a (m.A.test_a) ... test_b (m.A.test_b) ... ok\n";
    EXPECT_TRUE(is_ambiguous(read(line + closing("1 test", "OK"))));
    // Up to Python 3.10 so does a test whose sub-tests fail.
    const Read found = read(line + "\n" + section("FAIL: test_a (m.A.test_a) (i=1)") +
                            closing("2 tests", "FAILED (failures=1)"));
    EXPECT_THAT(states(found), ElementsAre("failed passed"));
}

// Since Python 3.11 sub-tests have lines, and their test's name stands once more before its status.
TEST(UnittestImport, AFailedSubtestFailsItsTestWhateverThatSays) {
    const auto test = [](std::string_view name, std::string_view subtest, std::string_view own) {
        return fmt::format(
            "{0} (m.A.{0}) ... \n  {0} (m.A.{0}) (i=1) ... {1}\n{0} (m.A.{0}) ... {2}\n", name,
            subtest, own);
    };
    const Read found =
        read(test("test_a", "FAIL", "skipped 'all'") + test("test_b", "FAIL", "ERROR") +
             test("test_c", "skipped 'no'", "skipped 'all'") + "\n" +
             section("ERROR: test_b (m.A.test_b)") + section("FAIL: test_a (m.A.test_a) (i=1)") +
             section("FAIL: test_b (m.A.test_b) (i=1)") +
             closing("3 tests", "FAILED (failures=2, errors=1, skipped=3)"));
    EXPECT_THAT(states(found), ElementsAre("failed failed skipped"));
    const auto& cases = found.parts[0].cases;
    EXPECT_EQ(cases[0].call_state, State::skipped);
    EXPECT_EQ(cases[1].call_state, State::errored);
    EXPECT_EQ(cases[2].call_state, std::nullopt);
    EXPECT_THAT(mismatches(found.parts[0]), IsEmpty());
}

TEST(UnittestImport, ARunThatIsNotVerboseAddsUp) {
    const Read found = read(fmt::format(".F.sxu.\n{}\nFAIL: test_x (m.A.test_x)\n{}\n"
                                        "Traceback (most recent call last):\n"
                                        "  File \"m.py\", line 3, in test_x\nAssertionError: no\n",
                                        kDoubleRule, kRule) +
                            closing("7 tests",
                                    "FAILED (failures=1, skipped=1, expected "
                                    "failures=1, unexpected successes=1)"));
    ASSERT_EQ(found.parts.size(), 1u);
    const ModuleRecord& part = found.parts[0];
    EXPECT_THAT(mismatches(part), IsEmpty());
    std::vector<std::string> ids;
    for (const CaseRecord& c : part.cases)
        ids.push_back(fmt::format("{} {}", c.id, name_of(c.state)));
    // An unexpected success is a failure to unittest.
    EXPECT_THAT(ids,
                ElementsAre("m.py::A::test_x failed", "m.py::<unnamed passed> passed",
                            "m.py::<unnamed skipped> skipped", "m.py::<unnamed xfailed> xfailed",
                            "m.py::<unnamed xpassed> xpassed"));
    EXPECT_EQ(part.cases[1].reason, "3 passed, unnamed");
    EXPECT_EQ(part.collected, 7);
    ASSERT_EQ(part.diagnostics.size(), 1u);
    EXPECT_THAT(part.diagnostics[0].message, ::testing::HasSubstr("JUnit XML"));
    const Read passed = read("....\n" + closing("4 tests", "OK"), "dots.log");
    ASSERT_EQ(passed.parts.size(), 1u);
    EXPECT_EQ(passed.parts[0].path, "dots.log");
    EXPECT_EQ(passed.parts[0].cases[0].reason, "4 passed, unnamed");
    EXPECT_THAT(mismatches(passed.parts[0]), IsEmpty());
}

TEST(UnittestImport, ARunWithoutNamesThatDies) {
    const std::string verbose = "a (m.I.a) ... ok\n" + closing("1 test", "OK");
    for (const std::string cut : {"..bash: line 1: 28504 Killed      python -m unittest u\n",
                                  "..Killed\n", "..\n./ci.sh: line 7: 12 Segmentation fault\n",
                                  "../home/me/ci.sh: line 3: 1 Aborted (core dumped) python\n"})
        for (const std::string& text : {cut + verbose, verbose + cut}) {
            const Read found = read(text);
            ASSERT_EQ(found.parts.size(), 2u) << text;
            const ModuleRecord& part = found.parts[text.starts_with(cut) ? 0 : 1];
            ASSERT_EQ(part.cases.size(), 1u) << text;
            EXPECT_EQ(part.cases[0].state, State::crashed) << text;
            EXPECT_THAT(mismatches(part), ElementsAre(::testing::HasSubstr("breaks off")));
        }
}

// As a framework does that a test calls: result.printErrors().
TEST(UnittestImport, SectionsThatATestPrintsAreNotTheRuns) {
    const std::string own = section("FAIL: runTest (m.Inner.runTest)");
    const std::string last = section("FAIL: test_3 (m.A.test_3)");
    const Read found = read("test_1 (m.A.test_1) ... F\n" + own +
                            "ok\ntest_2 (m.A.test_2) ... ok\ntest_3 (m.A.test_3) ... FAIL\n\n" +
                            last + closing("3 tests", "FAILED (failures=1)"));
    EXPECT_THAT(states(found), ElementsAre("passed passed failed"));
    for (const ModuleRecord& part : found.parts) EXPECT_THAT(mismatches(part), IsEmpty());
    const Read at_end =
        read("test_1 (m.A.test_1) ... F\n" + own + "ok\n" + closing("1 test", "OK"));
    EXPECT_THAT(states(at_end), ElementsAre("passed"));
    const Read before_own = read("test_3 (m.A.test_3) ... FAIL\ntest_1 (m.A.test_1) ... F\n" + own +
                                 "ok\n\n" + last + closing("2 tests", "FAILED (failures=1)"));
    EXPECT_THAT(states(before_own), ElementsAre("failed passed"));
}

TEST(UnittestImport, ACrashThatTheLogNamesIsTheTests) {
    const std::string dump =
        "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call "
        "first):\n  File \"m.py\", line 3 in test_is_ok\n";
    const std::string began = "test_a (m.A.test_a) ... ok\ntest_b (m.A.test_b) ... ";
    for (const std::string after : {"", "Segmentation fault (core dumped)\n"}) {
        const Read found = read(began + dump + after);
        EXPECT_THAT(states(found), ElementsAre("passed crashed"));
        EXPECT_EQ(found.parts[0].cases[1].reason, "SIGSEGV");
        EXPECT_EQ(found.parts[0].outcome, ModuleOutcome::crashed);
        EXPECT_FALSE(mismatches(found.parts[0]).empty());
    }
    // A child's: the test went on.
    EXPECT_THAT(states(read(began + dump + "ok\n" + closing("2 tests", "OK"))),
                ElementsAre("passed passed"));
    // The words are a test's name's.
    EXPECT_THAT(states(read("test_SIGTERM (m.A.test_SIGTERM) ... ok\ntest_SIGSEGV (m.A.t) ... ")),
                ElementsAre("passed not_run"));
}

TEST(UnittestImport, ASummaryInWhatAFailedTestPrintedIsNotTheRuns) {
    const std::string printed = "\nStdout:\n.\n" + closing("1 test", "OK");
    const Read verbose = read("test_a (m.A.test_a) ... ok\ntest_c (m.A.test_c) ... FAIL\n\n" +
                              section("FAIL: test_c (m.A.test_c)") + printed +
                              closing("2 tests", "FAILED (failures=1)"));
    EXPECT_THAT(states(verbose), ElementsAre("passed failed"));
    EXPECT_THAT(verbose.parts[0].cases[1].failure->traceback, ::testing::HasSubstr("Ran 1 test"));
    const Read quiet =
        read("..F.F\n" + section("FAIL: test_c (m.A.test_c)") + printed + "\n" +
             section("FAIL: test_d (m.A.test_d)") + closing("5 tests", "FAILED (failures=2)"));
    EXPECT_THAT(states(quiet), ElementsAre("failed failed passed"));
    for (const Read& found : {verbose, quiet}) EXPECT_THAT(mismatches(found.parts[0]), IsEmpty());
}

TEST(UnittestImport, RunsWithinTestsAreInDoubt) {
    const std::string inner = closing("2 tests", "OK");
    EXPECT_TRUE(is_ambiguous(
        read("...." + inner + "..." + inner + "..s" + closing("6 tests", "OK (skipped=1)"))));
    EXPECT_TRUE(is_ambiguous(
        read("..a (m.I.a) ... ok\n" + closing("1 test", "OK") + ".." + closing("4 tests", "OK"))));
    EXPECT_TRUE(is_ambiguous(read("...." + inner + ".." + closing("2 tests", "OK"))));
    EXPECT_TRUE(is_ambiguous(read(
        "test_a (m.A.test_a) ... ok\ntest_n (m.A.test_n) ... test_q (m.I.test_q) ... FAIL\n\n" +
        section("FAIL: test_q (m.I.test_q)") + closing("1 test", "FAILED (failures=1)") +
        "ok\ntest_z (m.A.test_z) ... ok\n" + closing("3 tests", "OK"))));
}

TEST(UnittestImport, OfTestsWithOneNameTheRightOneBroke) {
    const std::string header = "test_1 (m.A.test_1) ... ";
    const Read found =
        read(header + "ok\n" + header + "FAIL\ntest_2 (m.A.test_2) ... ok\n" + header + "ok\n\n" +
             section("FAIL: test_1 (m.A.test_1)") + closing("4 tests", "FAILED (failures=1)"));
    EXPECT_THAT(states(found), ElementsAre("passed failed passed passed"));
    EXPECT_TRUE(found.parts[0].cases[1].failure);
}

TEST(UnittestImport, ManySubTestsAndSummariesAreReadInTime) {
    std::string text = "test_s (m.A.test_s) ... ";
    for (int i = 0; i < 100'000; ++i)
        text += fmt::format("\n  test_s (m.A.test_s) (i={}) ... skipped 'no'", i);
    text += "\n";
    for (int i = 0; i < 20'000; ++i) text += fmt::format("test_{0} (m.A.test_{0}) ... ok\n", i);
    text += "test_prints (m.A.test_prints) ... ";
    for (int i = 0; i < 20'000; ++i) text += closing("10000 tests", "OK");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(read(text).parts.empty());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

std::int64_t in_state(const Read& out, State state) {
    std::int64_t count = 0;
    for (const auto& part : out.parts)
        for (const auto& c : part.cases) count += c.state == state;
    return count;
}

// A run that another program announces is separate, however little the one before left.
TEST(UnittestImport, ARunThatBrokeOffIsNoPartOfTheNextProgramsRun) {
    const Read quiet = read(
        "Running test_a ... [2024-05-01 12:34:56.1]\n..F\nSegmentation fault (core dumped)\n"
        "Running test_b ... [2024-05-01 12:34:56.1]\n" +
        std::string(70, '-') + "\nRan 3 tests in 0.001s\n\nOK\n");
    ASSERT_EQ(quiet.parts.size(), 2U);
    EXPECT_FALSE(quiet.parts[0].finished);
    EXPECT_EQ(quiet.parts[1].path, "test_b.py");
    EXPECT_EQ(quiet.parts[1].cases.at(0).reason, "3 passed, unnamed");
    EXPECT_THAT(mismatches(quiet.parts[1]), IsEmpty());

    const Read killed = read(
        "Running a ... [2024-05-01 12:34:56.1]\n..F..FFF\nKilled\n"
        "Running b ... [2024-05-01 12:34:56.1]\nhello.world..\n" +
        std::string(70, '-') + "\nRan 8 tests in 0.001s\n\nOK\n");
    ASSERT_EQ(killed.parts.size(), 2U);
    EXPECT_FALSE(killed.parts[0].finished);

    const Read named = read(
        "Running test_a ... [2024-05-01 12:34:56.1]\n"
        "test_crash (__main__.A.test_crash) ... Segmentation fault (core dumped)\n"
        "Running test_b ... [2024-05-01 12:34:57.1]\ntest_x (__main__.B.test_x) ... ok\n"
        "test y (__main__.B) ... ok\n\n" +
        std::string(70, '-') + "\nRan 2 tests in 0.001s\n\nOK\n");
    ASSERT_EQ(named.parts.size(), 2U);
    EXPECT_EQ(named.parts[0].cases.at(0).state, State::crashed);
    EXPECT_EQ(in_state(named, State::not_run), 0);
}

TEST(UnittestImport, NoTestIsFoundWithinAWord) {
    const Read out = read(
        "test_a (m.T.test_a) ... ok\nFetching latest (v1.2) ... done\n"
        "Loaded mytestdata (torch.nn) ... ok\ntest_b (m.T.test_b) ... ok\n\n" +
        std::string(70, '-') + "\nRan 2 tests in 0.001s\n\nOK\n");
    ASSERT_EQ(out.parts.size(), 1U);
    EXPECT_EQ(out.parts[0].cases.size(), 2U);
    EXPECT_THAT(mismatches(out.parts[0]), IsEmpty());
}

// One test that failed, and sections without end that it printed.
TEST(UnittestImport, ManySectionsAreReadInTime) {
    const std::string rule(70, '='), thin(70, '-');
    std::string folded = "F\n" + rule + "\nFAIL: test_a (m.T)\n" + thin + "\ntext\n\n";
    std::string left = "test_a (m.T.test_a) ... FAIL\n\n";
    for (int i = 0; i < 20'000; ++i) {
        folded += fmt::format("{}\nFAIL: test_{} (other.T)\n{}\ntext\n", rule, i, thin);
        left += fmt::format("ok\n{}\nFAIL: test_{} (other.T)\n{}\ntext\n", rule, i, thin);
    }
    const std::string closing = thin + "\nRan 1 test in 0.001s\n\nFAILED (failures=1)\n";
    const auto begun = std::chrono::steady_clock::now();
    for (const std::string& text : {folded + closing, left + closing})
        EXPECT_GE(read(text).parts.size(), 1U);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(30));
}

TEST(UnittestImport, OffsetsAreThoseOfTheFile) {
    const std::string text = wrapped("test_x (m.A.test_x) ... ok\n" + closing("2 tests", "OK"));
    const Read found = read(text);
    ASSERT_EQ(found.parts.size(), 1u);
    ASSERT_EQ(found.parts[0].diagnostics.size(), 1u);
    EXPECT_EQ(found.parts[0].diagnostics[0].offset,
              static_cast<std::int64_t>(text.rfind("\n", text.find(kRule)) + 1));
}

TEST(UnittestImport, PyTorchsOwnLogs) {
    const Read found = read(fmt::format(
        "Running test_ops 1/2 ... [2024-05-01 12:34:56.123456]\n\nRunning tests...\n{1}\n"
        "test_a (__main__.TestX) ... ok (0.012s)\n"
        "  test_b (__main__.TestX) ... skip: not here (0.001s)\n"
        "test_c (__main__.TestX) ... ERROR (0.003s)\n\n{0}\n"
        "ERROR [0.003s]: test_c (__main__.TestX)\n{1}\n"
        "Traceback (most recent call last):\n  File \"t.py\", line 3, in test_c\nValueError: no\n"
        "{2}\nGenerating XML reports...\n"
        "Running distributed/test_nn ... [2024-05-01 12:35:56.123456]\n"
        "test_a (__main__.TestX) ... ok (0.012s)\n{3}",
        kDoubleRule, kRule, closing("3 tests", "FAILED (errors=1, skipped=1)"),
        closing("1 test", "OK")));
    ASSERT_EQ(found.parts.size(), 2u);
    const ModuleRecord& part = found.parts[0];
    EXPECT_EQ(part.path, "test_ops.py");
    ASSERT_EQ(part.cases.size(), 3u);
    EXPECT_EQ(part.cases[0].id, "test_ops.py::TestX::test_a");
    EXPECT_DOUBLE_EQ(part.cases[0].duration_s, 0.012);
    EXPECT_EQ(part.cases[1].reason, "not here");
    EXPECT_EQ(part.cases[2].failure->type, "ValueError");
    EXPECT_DOUBLE_EQ(part.cases[2].duration_s, 0.003);
    EXPECT_THAT(mismatches(part), IsEmpty());
    EXPECT_EQ(found.parts[1].path, "distributed/test_nn.py");
}

// With -b, what a test that broke had printed stands once more behind its line.
TEST(UnittestImport, SectionsAmongWhatABufferedTestPrinted) {
    const std::string rule(70, '-');
    const std::string twice(70, '=');
    const std::string phantom = "\nStderr:\n" + twice + "\nFAIL: test_p (t.T.test_p)\n" + rule +
                                "\nTraceback (most recent call last):\nAssertionError: p\n\n";
    const auto parts = read("test_a (t.T.test_a) ... FAIL\n" + phantom +
                            "test_b (t.T.test_b) ... FAIL\n"
                            "test_c (t.T.test_c) ... ok\n\n" +
                            twice + "\nFAIL: test_a (t.T.test_a)\n" + rule +
                            "\nTraceback (most recent call last):\nAssertionError: a\n" + phantom +
                            "\n" + twice + "\nFAIL: test_b (t.T.test_b)\n" + rule +
                            "\nTraceback (most recent call last):\nAssertionError: b\n\n" + rule +
                            "\nRan 3 tests in 0.001s\n\nFAILED (failures=2)\n")
                           .parts;
    ASSERT_EQ(parts.size(), 1u);
    ASSERT_EQ(parts[0].cases.size(), 3u);
    EXPECT_EQ(parts[0].cases[0].failure->message, "a");
    EXPECT_EQ(parts[0].cases[1].failure->message, "b");
    EXPECT_EQ(parts[0].cases[2].state, State::passed);
}

// Nothing tells such lines from those of the run.
TEST(UnittestImport, LinesOfTestsThatATestPrintedDoNotAddUp) {
    for (const std::string& text : {".test_ghost (t.T.test_ghost) ... ok\n.sx.\n" +
                                        closing("5 tests", "OK (skipped=1, expected failures=1)"),
                                    "test_a (m.C.test_a) ... ok\n[1/2] test_c (m.C.test_c)\nok\n" +
                                        closing("2 tests", "OK")}) {
        const Read found = read(text);
        bool adds_up = !is_ambiguous(found);
        for (const ModuleRecord& part : found.parts) adds_up = adds_up && mismatches(part).empty();
        EXPECT_FALSE(adds_up) << text;
    }
}

}  // namespace
}  // namespace compat::parsers::unittest_import_test
