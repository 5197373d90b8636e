// Any bytes at all, in any dialect of others: the readers return, throw nothing, keep their
// invariants. Bounded, with fixed seeds; tests/fuzz looks further.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
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

std::string bytes_of(const Sample& sample) {
    std::ifstream in(testing::golden_folder() / sample.file, std::ios::binary);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

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
                      Sample{Dialect::pytest_text, "whole-pytest-8.4.2/summary.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-9.0.3/coloured.log"},
                      Sample{Dialect::pytest_text, "whole-pytest-7.4.4/crashed.log"},
                      Sample{Dialect::googletest_text, "gtest-1.12.1/states.log"},
                      Sample{Dialect::googletest_text, "gtest-1.12.1/states-brief-color.log"},
                      Sample{Dialect::googletest_text, "gtest-1.18.0/environment-repeat.log"},
                      Sample{Dialect::googletest_json, "gtest-1.18.0/states.json"},
                      Sample{Dialect::googletest_json, "gtest-1.12.1/environment.json"},
                      Sample{Dialect::torchdevice_log, "torchdevice/overall.log"},
                      Sample{Dialect::torchdevice_json, "torchdevice/summary.json"},
                      Sample{Dialect::torchdevice_report, "torchdevice/report.md"}));

struct Bytes {
    std::string name;
    std::string text;
};
std::ostream& operator<<(std::ostream& out, const Bytes& bytes) { return out << bytes.name; }

class ForeignMonsters : public ::testing::TestWithParam<Bytes> {};

// In every dialect, in seconds, not in hours.
TEST_P(ForeignMonsters, AreReadInTime) {
    const auto begin = std::chrono::steady_clock::now();
    for (size_t i = 0; i < kDialectNames.size(); ++i)
        for (const Sample& known :
             {Sample{Dialect::unittest_text, ""}, Sample{Dialect::pytest_text, ""},
              Sample{Dialect::googletest_text, ""}, Sample{Dialect::googletest_json, ""},
              Sample{Dialect::torchdevice_log, ""}, Sample{Dialect::torchdevice_json, ""},
              Sample{Dialect::torchdevice_report, ""}})
            if (static_cast<size_t>(known.dialect) == i) {
                EXPECT_EQ(broken_foreign_invariant(known.dialect, GetParam().text), "");
            }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

std::string repeated(std::string_view part, size_t times) {
    std::string out;
    out.reserve(part.size() * times);
    for (size_t i = 0; i < times; ++i) out += part;
    return out;
}

std::string noise(size_t size) {
    std::mt19937 random(1);
    std::string out(size, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

std::vector<Bytes> monsters() {
    constexpr size_t kMiB = 1 << 20;
    return {
        {"empty", ""},
        {"one_line_of_4_MiB", std::string(4 * kMiB, 'x')},
        {"NULs", std::string(kMiB, '\0')},
        {"noise", noise(kMiB)},
        {"newlines", std::string(kMiB / 4, '\n')},
        {"brackets", std::string(kMiB, '[')},
        {"nested_objects", repeated("{\"a\":", kMiB)},
        {"escapes", repeated("\x1b[", kMiB)},
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
        {"progress", std::string(4 * kMiB, '.') + "\n"},
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
