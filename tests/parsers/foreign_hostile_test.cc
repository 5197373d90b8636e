// Any bytes at all, in any dialect of others: the readers return, throw nothing, keep their
// invariants. Bounded, with fixed seeds; tests/fuzz looks further.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "tests/parsers/foreign_invariants.h"
#include "tests/parsers/golden_files.h"

namespace compat::parsers {
namespace {

using testing::broken_foreign_invariant;

struct Sample {
    Dialect dialect;
    const char* file;  // under golden/
};

std::ostream& operator<<(std::ostream& out, const Sample& sample) { return out << sample.file; }

std::string bytes_of(const Sample& sample) { return testing::golden_bytes(sample.file); }

class ForeignHostile : public ::testing::TestWithParam<Sample> {};

TEST_P(ForeignHostile, IsThere) { EXPECT_FALSE(bytes_of(GetParam()).empty()); }

TEST_P(ForeignHostile, CutAnywhere) {
    const std::string bytes = bytes_of(GetParam());
    for (size_t cut = 0; cut <= bytes.size(); cut += 1 + cut / 97)
        ASSERT_EQ(broken_foreign_invariant(GetParam().dialect, bytes.substr(0, cut)), "")
            << "cut at " << cut;
    for (size_t cut = 0; cut <= bytes.size(); cut += 1 + cut / 47)
        ASSERT_EQ(broken_foreign_invariant(GetParam().dialect, bytes.substr(cut)), "")
            << "from " << cut;
}

TEST_P(ForeignHostile, Mutated) {
    const std::string source = bytes_of(GetParam());
    std::mt19937 random(static_cast<unsigned>(source.size()));
    for (int round = 0; round < 100; ++round) {
        std::string bytes = source;
        for (int change = 0; change < 1 + round % 20 && !bytes.empty(); ++change) {
            const size_t at = random() % bytes.size();
            const size_t length = std::min<size_t>(random() % 60, bytes.size() - at);
            switch (random() % 5) {
                case 0:
                    bytes[at] = static_cast<char>(random());
                    break;
                case 1:
                    bytes.erase(at, length);
                    break;
                case 2:
                    bytes.insert(at, bytes.substr(random() % bytes.size(), 80));
                    break;
                case 3:
                    bytes.insert(at, "\x1b[0;31m\xff\\ud800");
                    break;
                default:
                    bytes.insert(at, std::string(length, static_cast<char>(random())));
            }
        }
        ASSERT_EQ(broken_foreign_invariant(GetParam().dialect, bytes), "") << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Real, ForeignHostile,
    ::testing::Values(Sample{Dialect::unittest_text, "whole-unittest-3.13.0/durations.log"},
                      Sample{Dialect::unittest_text, "whole-unittest-3.9.18/quiet.log"},
                      Sample{Dialect::unittest_text, "whole-unittest-3.11.7/xmlrunner.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-9.0.3/summary.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-9.0.3/coloured.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-7.4.4/crashed.log"},
                      Sample{Dialect::googletest_text, "gtest-1.12.1/states.log"},
                      Sample{Dialect::googletest_text, "gtest-1.12.1/states-brief-color.log"},
                      Sample{Dialect::googletest_text, "gtest-1.18.0/environment-repeat.log"},
                      Sample{Dialect::googletest_json, "gtest-1.18.0/states.json"},
                      Sample{Dialect::googletest_json, "gtest-1.12.1/environment.json"},
                      Sample{Dialect::torchdevice_log, "torchdevice/overall.log"},
                      Sample{Dialect::torchdevice_json, "torchdevice/summary.json"}));

struct Bytes {
    std::string name;
    std::string text;
};
std::ostream& operator<<(std::ostream& out, const Bytes& bytes) { return out << bytes.name; }

class ForeignMonsters : public ::testing::TestWithParam<Bytes> {};

// In every dialect, in seconds, not in hours.
TEST_P(ForeignMonsters, AreReadInTime) {
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string_view name : kDialectNames)
        EXPECT_EQ(broken_foreign_invariant(*dialect_of(name), GetParam().text), "") << name;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

std::string repeated(std::string_view part, size_t times) {
    std::string out;
    out.reserve(part.size() * times);
    for (size_t i = 0; i < times; ++i) out += part;
    return out;
}

// `part` with each number in place of "%", until the text is of the size.
std::string numbered(std::string_view part, size_t size = 1 << 18) {
    std::string out;
    for (int i = 0; out.size() < size; ++i) {
        const std::string number = std::to_string(i);
        for (const char c : part) {
            if (c == '%')
                out += number;
            else
                out += c;
        }
    }
    return out;
}

std::string noise(size_t size) {
    std::mt19937 random(1);
    std::string out(size, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

std::vector<Bytes> monsters() {
    constexpr size_t kSize = 1 << 18;
    const std::string of_one = "[==========] Running 1 test from 1 test suite.\n";
    const std::string rule = std::string(70, '-') + "\n";
    const std::string session =
        "=== test session starts ===\nplatform linux -- Python 3.11.7, pytest-8.4.2\n"
        "collected 2 items\n\n";
    return {
        {"empty", ""},
        {"one_line", std::string(4 * kSize, 'x')},
        {"NULs", std::string(kSize, '\0')},
        {"noise", noise(kSize)},
        {"newlines", std::string(kSize / 4, '\n')},
        {"brackets", std::string(kSize, '[')},
        {"nested_objects", repeated("{\"a\":", kSize)},
        {"escapes", repeated("\x1b[", kSize)},
        {"runs", repeated("[ RUN      ] A.B\n", 50'000)},
        {"runs_on_one_line", repeated("[ RUN      ] A.B", 50'000)},
        {"ends", repeated("[  FAILED  ] A.B (1 ms)\n", 50'000)},
        {"ends_on_one_line", repeated("[       OK ] A.B (1 ms)", 50'000)},
        {"unittest_headers", repeated("test_a (m.A.test_a) ... ", 25'000)},
        {"unittest_closings",
         repeated(std::string(70, '-') + "\nRan 1 test in 0.1s\n\nOK\n", 20'000)},
        {"unittest_great_closing",
         std::string(70, '-') + "\nRan 9223372036854775807 tests in 0.1s\n\nOK (skipped="
                                "9223372036854775807, expected failures=9223372036854775807)\n"},
        {"unittest_sections", repeated(std::string(70, '=') + "\nFAIL: t (m.A.t)\n", 20'000)},
        {"unittest_broken_off", repeated("test_a (m.A.test_a) ... \n" + std::string(70, '-') +
                                             "\nRan 5 tests in 0.1s\n\nOK\n",
                                         10'000)},
        {"progress", std::string(4 * kSize, '.') + "\n"},
        {"pytest_starts", repeated("=== test session starts ===\n", 20'000)},
        {"pytest_nodes", repeated("a.py::test PASSED [ 1%]\n", 20'000)},
        {"pytest_great_closing",
         "=== test session starts ===\ncollected 9223372036854775807 items\n"
         "=== 9223372036854775807 passed, 9223372036854775807 skipped in "
         "0.1s ===\n"},
        {"pytest_headings", "=== FAILURES ===\n" + repeated("___ a b c d e f ___\n", 20'000)},
        {"pytest_summaries", "=== short test summary info ===\n" +
                                 repeated("ERROR a.py::t - x\nFAILED a.py::t - y\n", 20'000)},
        {"headers", repeated("[==========] Running 3 tests from 1 test suite.\n", 20'000)},
        {"closings", repeated("[==========] 3 tests from 1 test suite ran.\n", 20'000)},
        {"great_count",
         "[==========] Running 9223372036854775807 tests from 1 test suite.\n"
         "[==========] 9223372036854775807 tests from 1 test suite ran.\n"
         "[  PASSED  ] 9223372036854775807 tests.\n"
         "  YOU HAVE 9223372036854775807 DISABLED TESTS\n"},
        {"tests_without_an_end", of_one + numbered("[ RUN      ] A.b%\n")},
        {"tests_without_an_end_killed",
         of_one + numbered("[ RUN      ] A.b%\n") + std::string(kSize, 'x') + "\nKilled\n"},
        {"iterations",
         numbered(
             "Repeating all tests (iteration %) . . .\n\n" + of_one +
             "[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n"
             "[==========] 1 test from 1 test suite ran. (1 ms total)\n[  PASSED  ] 1 test.\n")},
        {"broken_suites", of_one + numbered("[----------] 1 test from S%\na.cc:1: Failure\nx\n"
                                            "[ RUN      ] S%.b\n[       OK ] S%.b (0 ms)\n"
                                            "[----------] 1 test from S% (0 ms total)\n")},
        {"skips_after_broken_set_ups",
         of_one + numbered("[----------] 1 test from S%\na.cc:1: Failure\nx\n"
                           "[ RUN      ] S%.b\n[  SKIPPED ] S%.b (0 ms)\n")},
        {"broken_suites_of_the_list",
         of_one + numbered("[  FAILED  ] S%: SetUpTestSuite or TearDownTestSuite\n")},
        {"runs_in_a_line_with_escapes",
         of_one + "\x1b[0m" + repeated("[ RUN      ] A.b", kSize / 16)},
        {"broken_marks_in_a_line_with_escapes",
         "\x1b[0m" + repeated("[ RUN      ] A.b[  \x1b[0mFAILED  ] A.c", kSize / 40)},
        {"names_as_of_repeats",
         numbered("[ RUN      ] A.b#%\n[       OK ] A.b#% (0 ms)\n", kSize / 2) +
             repeated("[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n", kSize / 80)},
        {"unittest_closings_that_do_not_fit",
         numbered("test_% (m.A.test_%) ... ok\n", kSize / 2) + "test_z (m.A.test_z) ... \n" +
             repeated(rule + "Ran 500 tests in 1.0s\n\nOK\n", kSize / 200)},
        {"unittest_subtests",
         "test_z (m.A.test_z) ... \n" + numbered("  test_z (m.A.test_z) (i=%) ... FAIL\n")},
        {"unittest_subtest_sections",
         "test_z (m.A.test_z) ... \n" +
             numbered(std::string(70, '=') + "\nFAIL: test_z (m.A.test_z) (i=%)\n" + rule +
                      "Traceback (most recent call last):\nAssertionError: %\n\n") +
             rule + "Ran 1 test in 1.0s\n\nFAILED (failures=9)\n"},
        {"unittest_outer_test", "test_0 (m.A.test_0) ... \n" +
                                    numbered("test_% (m.A.test_%) ... ok\n") + rule +
                                    "Ran 9 tests in 1.0s\n\nOK\n"},
        {"unittest_many_broken_off",
         numbered("test_% (m.A.test_%) ... \n", kSize / 2) +
             repeated(rule + "Ran 1 test in 1.0s\n\nOK\n", kSize / 200)},
        {"unittest_ellipses", "test_x (m.A.test_x)" + repeated(" ... ", kSize / 5)},
        {"unittest_names_as_of_repeats", numbered("test_x#% (m.A.test_x#%) ... ok\n", kSize / 2) +
                                             repeated("test_x (m.A.test_x) ... ok\n", kSize / 50)},
        {"pytest_heading_of_many_words",
         session + "t.py::a FAILED\nt.py::b FAILED\n\n=== FAILURES ===\n____ " +
             repeated("a b ", kSize / 4) + "____\n\nE  x\n=== 2 failed in 1.0s ===\n"},
        {"pytest_states_in_one_line",
         session + "t.py::a " + repeated("PASSED ", kSize / 7) + "y\n=== 2 passed in 1.0s ===\n"},
        {"pytest_failures_of_one_name",
         session + numbered("t%.py::test_x FAILED\n", kSize / 2) + "\n=== FAILURES ===\n" +
             repeated("____ test_x ____\n\n>  assert 0\nE  assert 0\n\nt.py:3: AssertionError\n",
                      kSize / 128) +
             "=== 9 failed in 1.0s ===\n"},
        {"pytest_summary_of_dots",
         session + "t.py " + std::string(kSize / 2, 'F') + "\n=== short test summary info ===\n" +
             numbered("FAILED t.py::a% - x\n", kSize / 2) + "=== 9 failed in 1.0s ===\n"},
        {"pytest_open_parameters", session + "t.py::a x\nt.py::b[" + repeated("a ", kSize / 2)},
        {"torchdevice_totals",
         "Target project repo: x\n" +
             numbered("Finished test: a.b% - Status: FAILURE (RC: 1) Duration: 0:00:02.5\n"
                      "Total test files processed: 3\n")},
        {"torchdevice_failures",
         "| Total Tests (from log summaries) | 5 |\n" +
             numbered("#### %. Failure in `a` (Module: `b%`)\n- **Status:** `FAIL`\n")},
        {"junit_same_test", "<testsuite name='a' tests='9'>" +
                                repeated("<testcase name='x' classname='m.A'/>", kSize / 36) +
                                "</testsuite>"},
        {"junit_colons", "<testsuite name='a' tests='1'><testcase name='x' classname='m" +
                             std::string(kSize / 2, ':') + "' file='m" +
                             std::string(kSize / 2, ':') + "'/></testsuite>"},
        {"junit_dots", "<testsuite name='a' tests='1'><testcase name='x' classname='" +
                           repeated("A.", kSize / 2) + "'/></testsuite>"},
        {"junit_subtests",
         "<testsuite name='a-20240101000000' tests='1'>" +
             numbered("<testcase name='x (i=%)' classname='m.A'><failure>x</failure></testcase>") +
             "</testsuite>"},
        {"junit_nested", repeated("<testsuite name='a'>", kSize / 20)},
        {"junit_nested_failures",
         "<testsuite name='a' tests='1'><testcase name='x' classname='m.A'>" +
             repeated("<failure>", kSize / 9)},
        {"junit_open", repeated("<testsuite name='a' tests='1'><testcase name='x'/>", kSize / 50)},
        {"junit_angles", "<testsuite tests='1'><testcase name='x'/>" + std::string(kSize, '<')},
        {"junit_attributes",
         "<testsuite name='a' tests='1'><testcase " + numbered("a%='1' ") + "/></testsuite>"},
        {"junit_suites", "<testsuites>" +
                             repeated("<testsuite name='a' tests='1'><testcase name='x' "
                                      "classname='m.A'/></testsuite>",
                                      kSize / 78) +
                             "</testsuites>"},
        {"junit_great",
         "<testsuite name='a' tests='9223372036854775807' failures="
         "'9223372036854775807' errors='9223372036854775807' skipped="
         "'9223372036854775807'><testcase name='x' classname='m.A'/></testsuite>"},
        {"failures_of_one_test",
         "[ RUN      ] A.B\n" + repeated("a.cc:1: Failure\nx\n", 50'000) + "[  FAILED  ] A.B\n"},
        {"colons", repeated("a.cc:1: Failure", 50'000)},
        {"places", repeated("(1): error: ", 50'000)},
        {"finished", repeated("Finished test: a.b - Status: X (RC: 1) Duration: 0:0:1\n", 20'000)},
        {"modules", repeated("Module: a\n  Status: S (Return Code: 0)\n", 20'000)},
        {"great_report",
         "| Total Tests (from log summaries) | 9223372036854775807 |\n"
         "| Passed Tests | 9223372036854775807 |\n"
         "| Failed/Errored Tests | 9223372036854775807 |\n"
         "| Skipped Tests | 9223372036854775807 |\n"},
        {"headings",
         repeated("#### 1. Failure in `a` (Module: `b`)\n- **Status:** `FAIL`\n", 20'000)},
        {"great_totals",
         R"([{"module":"a","return_code":"-9223372036854775807","individual_log_summary":
         {"total":9223372036854775807,"failures":9223372036854775807,"errors":-5}}])"},
        {"great_json", R"({"tests":9223372036854775807,"disabled":-9223372036854775807,
         "failures":-9223372036854775807,"testsuites":[]})"},
        {"great_json_cut", R"({"tests":9223372036854775807,"testsuites":[)"},
    };
}

INSTANTIATE_TEST_SUITE_P(All, ForeignMonsters, ::testing::ValuesIn(monsters()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers
