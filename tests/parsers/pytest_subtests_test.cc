// Dead processes in what pytest prints: one state for each test.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/import/importers.h"
#include "runner/analysis/accounting.h"

namespace compat::parsers::pytest_subtests_test {
namespace {

using ::testing::ElementsAre;
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

// "t.py::test_x failed", behind it "(passed)" of its call, and its sub-tests.
std::vector<std::string> states(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const CaseRecord& c : part.cases) {
        out.push_back(fmt::format("{} {}", c.id, name_of(c.state)));
        if (c.call_state) out.back() += fmt::format(" ({})", name_of(*c.call_state));
        for (const SubCase& sub : c.subcases)
            out.back() += fmt::format(" {}={}", sub.label, name_of(sub.state));
    }
    return out;
}

std::vector<std::string> mismatches(const ModuleRecord& part) {
    std::vector<std::string> out;
    for (const auto& mismatch : analysis::account(part).mismatches) out.push_back(mismatch.text());
    return out;
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

}  // namespace
}  // namespace compat::parsers::pytest_subtests_test
