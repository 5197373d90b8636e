// Any bytes at all, in any dialect of others: the readers return, throw nothing, keep their
// invariants. Bounded, with fixed seeds; tests/fuzz looks further.
#include <gtest/gtest.h>

#include <random>

#include "tests/parsers/golden_files.h"
#include "tests/parsers/import_invariants.h"
#include "tests/parsers/monsters.h"

namespace compat::parsers::import_hostile_test {
namespace {

using testing::broken_import_invariant;
using testing::filled;
using testing::Monster;
using testing::nested;
using testing::noise;
using testing::numbered;

struct Sample {
    Dialect dialect;
    const char* file;  // under golden/
};

std::ostream& operator<<(std::ostream& out, const Sample& sample) { return out << sample.file; }

std::string bytes_of(const Sample& sample) { return testing::golden_bytes(sample.file); }

class ImportHostile : public ::testing::TestWithParam<Sample> {};

TEST_P(ImportHostile, IsThere) { EXPECT_FALSE(bytes_of(GetParam()).empty()); }

TEST_P(ImportHostile, CutAnywhere) {
    const std::string bytes = bytes_of(GetParam());
    for (size_t cut = 0; cut <= bytes.size(); cut += 1 + cut / 97)
        ASSERT_EQ(broken_import_invariant(GetParam().dialect, bytes.substr(0, cut)), "")
            << "cut at " << cut;
    for (size_t cut = 0; cut <= bytes.size(); cut += 1 + cut / 47)
        ASSERT_EQ(broken_import_invariant(GetParam().dialect, bytes.substr(cut)), "")
            << "from " << cut;
}

TEST_P(ImportHostile, Mutated) {
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
        ASSERT_EQ(broken_import_invariant(GetParam().dialect, bytes), "") << "round " << round;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Real, ImportHostile,
    ::testing::Values(Sample{Dialect::unittest_text, "truth-unittest-3.13.0/session-buffered.log"},
                      Sample{Dialect::unittest_text, "whole-unittest-3.9.18/quiet.log"},
                      Sample{Dialect::unittest_text, "truth-unittest-3.11.7/session-xmlrunner.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-7.4.4/summary.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-7.4.4/coloured.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-7.4.4/crashed.log"},
                      Sample{Dialect::googletest_text, "gtest-1.12.1/states.log"},
                      Sample{Dialect::googletest_text, "gtest-1.12.1/teardown.log"},
                      Sample{Dialect::googletest_text, "gtest-1.18.0/environment-repeat.log"},
                      Sample{Dialect::googletest_json, "gtest-1.18.0/states.json"},
                      Sample{Dialect::googletest_json, "gtest-1.12.1/environment.json"},
                      Sample{Dialect::torchdevice_log, "torchdevice/overall.log"},
                      Sample{Dialect::torchdevice_json, "torchdevice/summary.json"},
                      Sample{Dialect::pytest_reportlog, "reportlog-pytest-8.4.2/run.jsonl"},
                      Sample{Dialect::ctrf, "ctrf/pytest.json"},
                      Sample{Dialect::ctrf, "ctrf/playwright.json"}));

class ImportMonsters : public ::testing::TestWithParam<Monster> {};

// In every dialect.
TEST_P(ImportMonsters, AreReadInProportionToTheirSize) {
    testing::expect_read_in_proportion(GetParam(), [](std::string_view text) {
        std::string broken;
        for (const std::string_view name : kDialectNames)
            if (const std::string why = broken_import_invariant(*dialect_of(name), text);
                !why.empty())
                broken += std::string(name) + ": " + why + "\n";
        return broken;
    });
}

const std::string kOfOne = "[==========] Running 1 test from 1 test suite.\n";
const std::string kRule = std::string(70, '-') + "\n";
const std::string kSession =
    "=== test session starts ===\nplatform linux -- Python 3.11.7, pytest-8.4.2\n"
    "collected 2 items\n\n";

std::vector<Monster> monsters() {
    return {
        {"empty", [](size_t) { return std::string(""); }},
        {"one_line", [](size_t size) { return std::string(size, 'y'); }},
        {"NULs", [](size_t size) { return std::string(size, '\0'); }},
        {"noise", [](size_t size) { return noise(size); }},
        {"newlines", [](size_t size) { return std::string(size / 4, '\n'); }},
        {"brackets", [](size_t size) { return std::string(size, '['); }},
        {"nested_objects", [](size_t size) { return nested("{\"a\":", size); }},
        {"escapes", [](size_t size) { return filled("\x1b[", size); }},
        {"runs", [](size_t size) { return filled("[ RUN      ] A.B\n", size); }},
        {"runs_on_one_line", [](size_t size) { return filled("[ RUN      ] A.B", size); }},
        {"ends", [](size_t size) { return filled("[  FAILED  ] A.B (1 ms)\n", size); }},
        {"ends_on_one_line", [](size_t size) { return filled("[       OK ] A.B (1 ms)", size); }},
        {"unittest_headers", [](size_t size) { return filled("test_a (m.A.test_a) ... ", size); }},
        {"unittest_closings",
         [](size_t size) {
             return filled(std::string(70, '-') + "\nRan 1 test in 0.1s\n\nOK\n", size);
         }},
        {"unittest_great_closing",
         [](size_t) {
             return std::string(70, '-') +
                    "\nRan 999999999999999999 tests in 0.1s\n\nOK (skipped="
                    "999999999999999999, expected failures=999999999999999999)\n";
         }},
        {"unittest_sections",
         [](size_t size) { return filled(std::string(70, '=') + "\nFAIL: t (m.A.t)\n", size); }},
        {"unittest_broken_off",
         [](size_t size) {
             return filled("test_a (m.A.test_a) ... \n" + kRule + "Ran 5 tests in 0.1s\n\nOK\n",
                           size);
         }},
        {"unittest_verdict",
         [](size_t size) {
             return kRule + "Ran 1 test in 0.1s\n\nOK (a=1" + filled(", a=1", size) + ")\n";
         }},
        {"unittest_namesakes",
         [](size_t size) {
             return filled("t (m.A.t) ... FAIL\n", size / 2) +
                    filled(std::string(70, '=') + "\nFAIL: t (m.A.t)\n" + kRule, size / 2);
         }},
        {"unittest_odd_headings",
         [](size_t size) {
             return filled(
                 " (m.)\nx ... ok\n foo (m. foo)\nx ... ok\n"
                 "x: test/x (m.A) ... foo (q.test/x (m.A) ... foo)\n",
                 size);
         }},
        {"pytest_long_name", [](size_t size) { return kSession + "t.py" + filled("::a", size); }},
        {"pytest_outcomes_of_open_tests",
         [](size_t size) {
             return kSession + numbered("t.py::t% PASSED\n", size / 2) +
                    numbered("t.py::a% x\nt.py::b% PASSED\nPASSED\n", size / 2);
         }},
        {"pytest_counted_subtests",
         [](size_t size) {
             return filled(kSession +
                               "t.py uF\n=== short test summary info ===\n"
                               "FAILED t.py::a\n=== 999999 failed in 0.1s ===\n",
                           size / 8);
         }},
        {"ends_with_failures",
         [](size_t size) {
             return kOfOne + "[ RUN      ] A.b\n" + filled("a.cc:1: Failure\nx\n", size / 2) +
                    filled("[  FAILED  ] A.b (0 ms)\n", size / 2);
         }},
        {"runs_within_tests",
         [](size_t size) {
             return numbered(kOfOne + "[ RUN      ] A.b%\n", size / 2) +
                    filled("[       OK ] A.b (0 ms)\n", size / 2);
         }},
        {"progress", [](size_t size) { return std::string(size, '.') + "\n"; }},
        {"pytest_starts",
         [](size_t size) { return filled("=== test session starts ===\n", size); }},
        {"pytest_nodes", [](size_t size) { return filled("a.py::test PASSED [ 1%]\n", size); }},
        {"pytest_great_closing",
         [](size_t) {
             return std::string(
                 "=== test session starts ===\ncollected 9223372036854775807 items\n"
                 "=== 999999999999999999 passed, 999999999999999999 skipped in 0.1s ===\n"
                 "=== test session starts ===\ncollected 9223372036854775807 items\n"
                 "INTERNALERROR> Traceback (most recent call last):\nINTERNALERROR> E: no\n");
         }},
        {"pytest_headings",
         [](size_t size) { return "=== FAILURES ===\n" + filled("___ a b c d e f ___\n", size); }},
        {"pytest_summaries",
         [](size_t size) {
             return "=== short test summary info ===\n" +
                    filled("ERROR a.py::t - x\nFAILED a.py::t - y\n", size);
         }},
        {"headers",
         [](size_t size) {
             return filled("[==========] Running 3 tests from 1 test suite.\n", size);
         }},
        {"closings",
         [](size_t size) { return filled("[==========] 3 tests from 1 test suite ran.\n", size); }},
        {"great_count",
         [](size_t) {
             return std::string(
                 "[==========] Running 9223372036854775807 tests from 1 test suite.\n"
                 "[==========] 9223372036854775807 tests from 1 test suite ran.\n"
                 "[  PASSED  ] 9223372036854775807 tests.\n"
                 "  YOU HAVE 9223372036854775807 DISABLED TESTS\n");
         }},
        {"tests_without_an_end",
         [](size_t size) { return kOfOne + numbered("[ RUN      ] A.b%\n", size); }},
        {"tests_without_an_end_killed",
         [](size_t size) {
             return kOfOne + numbered("[ RUN      ] A.b%\n", size) + std::string(size, 'x') +
                    "\nKilled\n";
         }},
        {"iterations",
         [](size_t size) {
             return numbered("Repeating all tests (iteration %) . . .\n\n" + kOfOne +
                                 "[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n"
                                 "[==========] 1 test from 1 test suite ran. (1 ms total)\n[  "
                                 "PASSED  ] 1 test.\n",
                             size);
         }},
        {"broken_suites",
         [](size_t size) {
             return kOfOne + numbered(
                                 "[----------] 1 test from S%\na.cc:1: Failure\nx\n"
                                 "[ RUN      ] S%.b\n[       OK ] S%.b (0 ms)\n"
                                 "[----------] 1 test from S% (0 ms total)\n",
                                 size);
         }},
        {"skips_after_broken_set_ups",
         [](size_t size) {
             return kOfOne + numbered(
                                 "[----------] 1 test from S%\na.cc:1: Failure\nx\n"
                                 "[ RUN      ] S%.b\n[  SKIPPED ] S%.b (0 ms)\n",
                                 size);
         }},
        {"broken_suites_of_the_list",
         [](size_t size) {
             return kOfOne +
                    numbered("[  FAILED  ] S%: SetUpTestSuite or TearDownTestSuite\n", size);
         }},
        {"runs_in_a_line_with_escapes",
         [](size_t size) { return kOfOne + "\x1b[0m" + filled("[ RUN      ] A.b", size); }},
        {"broken_marks_in_a_line_with_escapes",
         [](size_t size) {
             return "\x1b[0m" + filled("[ RUN      ] A.b[  \x1b[0mFAILED  ] A.c", size);
         }},
        {"names_as_of_repeats",
         [](size_t size) {
             return numbered("[ RUN      ] A.b#%\n[       OK ] A.b#% (0 ms)\n", size / 2) +
                    filled("[ RUN      ] A.b\n[       OK ] A.b (0 ms)\n", size);
         }},
        {"unittest_closings_that_do_not_fit",
         [](size_t size) {
             return numbered("test_% (m.A.test_%) ... ok\n", size / 2) +
                    "test_z (m.A.test_z) ... \n" +
                    filled(kRule + "Ran 500 tests in 1.0s\n\nOK\n", size);
         }},
        {"unittest_subtests",
         [](size_t size) {
             return "test_z (m.A.test_z) ... \n" +
                    numbered("  test_z (m.A.test_z) (i=%) ... FAIL\n", size);
         }},
        {"unittest_subtest_sections",
         [](size_t size) {
             return "test_z (m.A.test_z) ... \n" +
                    numbered(std::string(70, '=') + "\nFAIL: test_z (m.A.test_z) (i=%)\n" + kRule +
                                 "Traceback (most recent call last):\nAssertionError: %\n\n",
                             size) +
                    kRule + "Ran 1 test in 1.0s\n\nFAILED (failures=9)\n";
         }},
        {"unittest_outer_test",
         [](size_t size) {
             return "test_0 (m.A.test_0) ... \n" + numbered("test_% (m.A.test_%) ... ok\n", size) +
                    kRule + "Ran 9 tests in 1.0s\n\nOK\n";
         }},
        {"unittest_many_broken_off",
         [](size_t size) {
             return numbered("test_% (m.A.test_%) ... \n", size / 2) +
                    filled(kRule + "Ran 1 test in 1.0s\n\nOK\n", size);
         }},
        {"unittest_ellipses",
         [](size_t size) { return "test_x (m.A.test_x)" + filled(" ... ", size); }},
        {"unittest_names_as_of_repeats",
         [](size_t size) {
             return numbered("test_x#% (m.A.test_x#%) ... ok\n", size / 2) +
                    filled("test_x (m.A.test_x) ... ok\n", size);
         }},
        {"pytest_heading_of_many_words",
         [](size_t size) {
             return kSession + "t.py::a FAILED\nt.py::b FAILED\n\n=== FAILURES ===\n____ " +
                    filled("a b ", size) + "____\n\nE  x\n=== 2 failed in 1.0s ===\n";
         }},
        {"pytest_states_in_one_line",
         [](size_t size) {
             return kSession + "t.py::a " + filled("PASSED ", size) +
                    "y\n=== 2 passed in 1.0s ===\n";
         }},
        {"pytest_failures_of_one_name",
         [](size_t size) {
             return kSession + numbered("t%.py::test_x FAILED\n", size / 2) +
                    "\n=== FAILURES ===\n" +
                    filled(
                        "____ test_x ____\n\n>  assert 0\nE  assert 0\n\nt.py:3: AssertionError\n",
                        size) +
                    "=== 9 failed in 1.0s ===\n";
         }},
        {"pytest_summary_of_dots",
         [](size_t size) {
             return kSession + "t.py " + std::string(size / 2, 'F') +
                    "\n=== short test summary info ===\n" +
                    numbered("FAILED t.py::a% - x\n", size / 2) + "=== 9 failed in 1.0s ===\n";
         }},
        {"pytest_open_parameters",
         [](size_t size) { return kSession + "t.py::a x\nt.py::b[" + filled("a ", size); }},
        {"torchdevice_totals",
         [](size_t size) {
             return "Target project repo: x\n" +
                    numbered(
                        "Finished test: a.b% - Status: FAILURE (RC: 1) Duration: 0:00:02.5\n"
                        "Total test files processed: 3\n",
                        size);
         }},
        {"torchdevice_failures",
         [](size_t size) {
             return "| Total Tests (from log summaries) | 5 |\n" +
                    numbered("#### %. Failure in `a` (Module: `b%`)\n- **Status:** `FAIL`\n", size);
         }},
        {"junit_same_test",
         [](size_t size) {
             return "<testsuite name='a' tests='9'>" +
                    filled("<testcase name='x' classname='m.A'/>", size) + "</testsuite>";
         }},
        {"junit_colons",
         [](size_t size) {
             return "<testsuite name='a' tests='1'><testcase name='x' classname='m" +
                    std::string(size / 2, ':') + "' file='m" + std::string(size / 2, ':') +
                    "'/></testsuite>";
         }},
        {"junit_dots",
         [](size_t size) {
             return "<testsuite name='a' tests='1'><testcase name='x' classname='" +
                    filled("A.", size) + "'/></testsuite>";
         }},
        {"junit_subtests",
         [](size_t size) {
             return "<testsuite name='a-20240101000000' tests='1'>" +
                    numbered(
                        "<testcase name='x (i=%)' classname='m.A'><failure>x</failure></testcase>",
                        size) +
                    "</testsuite>";
         }},
        {"junit_nested", [](size_t size) { return nested("<testsuite name='a'>", size); }},
        {"junit_nested_failures",
         [](size_t size) {
             return "<testsuite name='a' tests='1'><testcase name='x' classname='m.A'>" +
                    nested("<failure>", size);
         }},
        {"junit_open",
         [](size_t size) {
             return nested("<testsuite name='a' tests='1'><testcase name='x'/>", size);
         }},
        {"junit_angles",
         [](size_t size) {
             return "<testsuite tests='1'><testcase name='x'/>" + std::string(size, '<');
         }},
        {"junit_attributes",
         [](size_t size) {
             return "<testsuite name='a' tests='1'><testcase " + numbered("a%='1' ", size) +
                    "/></testsuite>";
         }},
        {"junit_suites",
         [](size_t size) {
             return "<testsuites>" +
                    filled(
                        "<testsuite name='a' tests='1'><testcase name='x' "
                        "classname='m.A'/></testsuite>",
                        size) +
                    "</testsuites>";
         }},
        {"junit_great",
         [](size_t) {
             return std::string(
                 "<testsuite name='a' tests='9223372036854775807' failures="
                 "'9223372036854775807' errors='9223372036854775807' skipped="
                 "'9223372036854775807'><testcase name='x' classname='m.A'/></testsuite>");
         }},
        {"failures_of_one_test",
         [](size_t size) {
             return "[ RUN      ] A.B\n" + filled("a.cc:1: Failure\nx\n", size) +
                    "[  FAILED  ] A.B\n";
         }},
        {"colons", [](size_t size) { return filled("a.cc:1: Failure", size); }},
        {"places", [](size_t size) { return filled("(1): error: ", size); }},
        {"finished",
         [](size_t size) {
             return filled("Finished test: a.b - Status: X (RC: 1) Duration: 0:0:1\n", size);
         }},
        {"modules",
         [](size_t size) { return filled("Module: a\n  Status: S (Return Code: 0)\n", size); }},
        {"great_report",
         [](size_t) {
             return std::string(
                 "| Total Tests (from log summaries) | 9223372036854775807 |\n"
                 "| Passed Tests | 9223372036854775807 |\n"
                 "| Failed/Errored Tests | 9223372036854775807 |\n"
                 "| Skipped Tests | 9223372036854775807 |\n");
         }},
        {"headings",
         [](size_t size) {
             return filled("#### 1. Failure in `a` (Module: `b`)\n- **Status:** `FAIL`\n", size);
         }},
        {"report_log_lines",
         [](size_t size) {
             return numbered(R"({"$report_type":"TestReport","nodeid":"a.py::t%","when":"call"})"
                             "\n",
                             size);
         }},
        {"report_log_reruns",
         [](size_t size) {
             return filled(R"({"$report_type":"TestReport","nodeid":"a.py::t","when":"setup",)"
                           R"("outcome":"rerun"})"
                           "\n",
                           size);
         }},
        {"report_log_workers",
         [](size_t size) {
             return numbered(R"({"$report_type":"TestReport","nodeid":"a.py::t","worker_id":"%"})"
                             "\n",
                             size);
         }},
        {"report_log_wrong_types",
         [](size_t size) {
             return filled(R"({"$report_type":"TestReport","nodeid":"a.py::t","outcome":"failed",)"
                           R"("location":{"a":1,"b":2,"c":3},"sections":[{"a":1,"b":2},3],)"
                           R"("longrepr":{"chain":[{"a":1},[1,2,3]],"reprtraceback":{"reprentries")"
                           R"(:[{"data":{"reprfuncargs":{"args":[{"a":1,"b":2}]}}}]}}})"
                           "\n",
                           size);
         }},
        {"ctrf_suites",
         [](size_t size) {
             return R"({"results":{"tests":[{"name":"a","suite":")" + filled("a > ", size) +
                    R"("}]}})";
         }},
        {"ctrf_attempts",
         [](size_t size) {
             return R"({"results":{"tests":[{"name":"a","status":"passed","retryAttempts":[)" +
                    filled(R"({"status":"failed"},)", size) + R"({}]}]}})";
         }},
        {"great_totals",
         [](size_t) {
             return std::string(
                 R"([{"module":"a","return_code":"-9223372036854775807","individual_log_summary":
         {"total":9223372036854775807,"failures":9223372036854775807,"errors":-5}}])");
         }},
        {"great_json",
         [](size_t) {
             return std::string(R"({"tests":9223372036854775807,"disabled":-9223372036854775807,
         "failures":-9223372036854775807,"testsuites":[]})");
         }},
        {"great_json_cut",
         [](size_t) { return std::string(R"({"tests":9223372036854775807,"testsuites":[)"); }},
    };
}

INSTANTIATE_TEST_SUITE_P(All, ImportMonsters, ::testing::ValuesIn(monsters()),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers::import_hostile_test
