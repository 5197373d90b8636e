#include "parsers/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/framework_summary.h"
#include "parsers/python_repr.h"
#include "parsers/record.h"
#include "parsers/unittest_header.h"

namespace compat::parsers::text_test {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(Text, LinesHaveTheirOffsets) {
    std::vector<std::pair<size_t, std::string>> found;
    Lines lines("a\r\n\nlast");
    while (lines.next()) {
        found.emplace_back(lines.offset(), lines.line());
        EXPECT_EQ(lines.complete(), lines.line() != "last");
    }
    EXPECT_THAT(found, ElementsAre(Pair(0u, "a"), Pair(3u, ""), Pair(4u, "last")));
}

TEST(Text, BecomesValidUtf8) {
    const std::string bad = "\xEF\xBF\xBD";
    EXPECT_EQ(valid_utf8("plain é \xF0\x9F\x90\x8D"), "plain é \xF0\x9F\x90\x8D");
    EXPECT_EQ(valid_utf8("\xFF"), bad);
    EXPECT_EQ(valid_utf8("\xC3"), bad);                                // cut
    EXPECT_EQ(valid_utf8("\xC0\x80"), bad + bad);                      // overlong
    EXPECT_EQ(valid_utf8("\xED\xA0\x80"), bad + bad + bad);            // surrogate
    EXPECT_EQ(valid_utf8("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
    EXPECT_EQ(valid_utf8(std::string("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Text, LosesItsTerminalEscapes) {
    EXPECT_EQ(without_ansi("\x1b[1;31mred\x1b[0m plain"), "red plain");
    EXPECT_EQ(without_ansi("cut \x1b[31"), "cut ");
    EXPECT_EQ(without_ansi("\x1b"), "");
}

TEST(Text, NumbersAreWholeAndFit) {
    EXPECT_EQ(number_of("12"), 12);
    for (const char* text : {"", "-1", "1x", " 1", "99999999999999999999"})
        EXPECT_EQ(number_of(text), std::nullopt) << text;
}

TEST(Text, PythonsQuotesAreUndone) {
    EXPECT_EQ(unquoted_python(R"('it\'s "x"\n\t\\')"), "it's \"x\"\n\t\\");
    EXPECT_EQ(unquoted_python(R"("it's")"), "it's");
    EXPECT_EQ(unquoted_python(R"('\xe9 \u20ac \U0001f40d')"), "é € 🐍");
    EXPECT_EQ(unquoted_python(R"('\xzz \q \')"), R"(\xzz \q \)");
    EXPECT_EQ(unquoted_python("None"), "None");
    EXPECT_EQ(unquoted_python("'"), "'");
}

TEST(Text, DiagnosticsAreBounded) {
    std::vector<Diagnostic> found;
    {
        Diagnoser diagnose("log", found);
        for (size_t i = 0; i < 1000; ++i) diagnose.add(i, "bad");
    }
    ASSERT_EQ(found.size(), static_cast<size_t>(Diagnoser::kMost) + 1);
    EXPECT_EQ(found.back().message, "900 more like these, the last one here");
    EXPECT_EQ(found.back().offset, 999);
}

TEST(Text, TotalsThatDifferAreKeptAfterAnyNumberOfOtherDiagnostics) {
    std::vector<Diagnostic> found;
    {
        Diagnoser diagnose("log", found);
        for (size_t i = 0; i < 1000; ++i) diagnose.add(i, "bad");
        for (size_t i = 0; i < 1000; ++i) diagnose.totals_differ(i, "3 and 4");
    }
    ASSERT_EQ(found.size(), 2 * (static_cast<size_t>(Diagnoser::kMost) + 1));
    EXPECT_EQ(found[Diagnoser::kMost].message, "totals differ: 3 and 4");
    EXPECT_EQ(found.back().message, "totals differ: 900 more like these, the last one here");
    EXPECT_EQ(found.back().offset, 999);
}

TEST(Names, AreReadBack) {
    for (const std::string_view name : kStateNames) EXPECT_EQ(name_of(*state_of(name)), name);
    for (const std::string_view name : kModuleOutcomeNames)
        EXPECT_EQ(name_of(*module_outcome_of(name)), name);
    for (const std::string_view name : kPhaseNames) EXPECT_EQ(name_of(*phase_of(name)), name);
    EXPECT_FALSE(state_of("fine"));
    EXPECT_FALSE(module_outcome_of(""));
    EXPECT_FALSE(phase_of("Call"));
}

TEST(Header, IsATestsName) {
    const auto header = header_of("test_x (mod.f.<locals>.C.test_x) ... ok");
    ASSERT_TRUE(header);
    EXPECT_EQ(header->method, "test_x");
    EXPECT_EQ(header->qualified, "mod.f.<locals>.C.test_x");
    EXPECT_EQ(header->rest, " ... ok");
    for (const char* line :
         {"", "test_x", "test_x (", "test_x ()", "test_x (a b)", "two words (a)", " test_x (a.B)"})
        EXPECT_FALSE(header_of(line)) << line;
}

struct ClosingRow {
    std::string name;
    std::string framework;
    std::string log;
    std::optional<std::string> text;
};

class Closings : public ::testing::TestWithParam<ClosingRow> {};

TEST_P(Closings, AreTheLastGenuineOnes) {
    const auto found = find_summary(GetParam().log, GetParam().framework);
    ASSERT_EQ(found.has_value(), GetParam().text.has_value());
    if (!found) return;
    EXPECT_EQ(found->summary.text, *GetParam().text);
}

TEST(GtestClosing, IsTheSumOfItsInvocations) {
    const std::string one =
        "[==========] 2 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 2 tests.\n";
    const std::string two =
        "[==========] 1 test from 1 test case ran. (0 ms total)\n"
        "[  PASSED  ] 0 tests.\n[  FAILED  ] 1 test, listed below:\n";
    const std::string second = "harness: invocation 2 of 2\n";
    const auto found = find_summary("harness: invocation 1 of 2\n" + one + second + two, "gtest");
    ASSERT_TRUE(found);
    EXPECT_EQ(found->summary.ran, 3);
    EXPECT_EQ(found->summary.counts,
              (decltype(found->summary.counts){{"passed", 2}, {"failed", 1}}));
    // A part that did not close leaves nothing to compare with.
    EXPECT_FALSE(find_summary("harness: invocation 1 of 2\n" + one + second, "gtest"));
    // Without the harness's word the last one counts: a test may run another binary.
    EXPECT_EQ(find_summary(one + two, "gtest")->summary.ran, 1);
}

const std::string kDashes(70, '-');
std::string closing(const std::string& ran, const std::string& verdict) {
    return kDashes + "\n" + ran + "\n\n" + verdict + "\n";
}

const std::vector<ClosingRow> kClosings{
    {"unittest", "unittest", "x\n" + closing("Ran 1 test in 0.1s", "OK"), "Ran 1 test in 0.1s: OK"},
    {"coloured", "unittest",
     "x\n" + closing("Ran 2 tests in 1.0s",
                     "\x1b[1;31mFAILED\x1b[0m (\x1b[1;31mfailures=1\x1b[0m, errors=1)"),
     "Ran 2 tests in 1.0s: FAILED (failures=1, errors=1)"},
    {"with_counts", "unittest",
     "x\n" + closing("Ran 2 tests in 1.0s", "FAILED (failures=1, expected failures=2)"),
     "Ran 2 tests in 1.0s: FAILED (failures=1, expected failures=2)"},
    {"with_carriage_returns", "unittest",
     "x\r\n" + kDashes + "\r\nRan 1 test in 0.1s\r\n\r\nOK\r\n", "Ran 1 test in 0.1s: OK"},
    {"the_last_of_two", "unittest",
     "x\n" + closing("Ran 9 tests in 0.1s", "OK") + "noise\n" +
         closing("Ran 1 test in 0.1s", "OK (skipped=1)") + "printed at exit\n",
     "Ran 1 test in 0.1s: OK (skipped=1)"},
    {"not_while_tests_still_run", "unittest",
     "x\n" + closing("Ran 9 tests in 0.1s", "OK") + "test_b (m.A.test_b) ... ", std::nullopt},
    {"not_without_a_rule", "unittest", "x\nRan 9 tests in 0.1s\n\nOK\n", std::nullopt},
    {"not_without_a_verdict", "unittest", "x\n" + kDashes + "\nRan 9 tests in 0.1s\n",
     std::nullopt},
    {"not_with_a_strange_verdict", "unittest",
     "x\n" + closing("Ran 1 test in 0.1s", "OK (failures)"), std::nullopt},
    {"gtest", "gtest",
     "[  FAILED  ] A.b (0 ms)\n[==========] 2 tests from 1 test suite ran. (0 ms total)\n"
     "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.b\n\n 1 FAILED "
     "TEST\n",
     "[==========] 2 tests from 1 test suite ran. (0 ms total) [  PASSED  ] 1 test. [  FAILED  ] 1 "
     "test, listed below:"},
    {"gtest_not_before_its_end", "gtest", "[==========] Running 2 tests from 1 test suite.\n",
     std::nullopt},
    {"ctest_of_which_a_test_ran_ctest", "ctest",
     "1: 100% tests passed, 0 tests failed out of 9\n50% tests passed, 1 tests failed out of 2\n",
     "50% tests passed, 1 tests failed out of 2"},
    {"pytest", "pytest", "=== 1 failed, 2 passed, 1 warning in 0.12s ===\n",
     "=== 1 failed, 2 passed, 1 warning in 0.12s ==="},
    {"pytest_minutes", "pytest",
     "=== 2 passed in 75.01s (0:01:15) ===", "=== 2 passed in 75.01s (0:01:15) ==="},
    {"pytest_quiet", "pytest", "..\n2 passed in 0.12s\n", "2 passed in 0.12s"},
    {"pytest_coloured", "pytest", "\x1b[32m=== \x1b[1m2 passed\x1b[0m in 0.12s ===\x1b[0m\n",
     "=== 2 passed in 0.12s ==="},
    {"pytest_none", "pytest", "=== no tests ran in 0.01s ===\n", "=== no tests ran in 0.01s ==="},
    {"pytest_the_last_of_two", "pytest",
     "=== 9 passed in 0.01s ===\n=== 1 error in 0.01s ===\nbye\n", "=== 1 error in 0.01s ==="},
    {"pytest_prose", "pytest", "he 2 passed in 0.12s\nthere were 2 in 3s\n", std::nullopt},
    {"another_framework", "gtest", "=== 2 passed in 0.12s ===\n", std::nullopt},
    {"nothing", "pytest", "", std::nullopt},
};

INSTANTIATE_TEST_SUITE_P(All, Closings, ::testing::ValuesIn(kClosings),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers::text_test
