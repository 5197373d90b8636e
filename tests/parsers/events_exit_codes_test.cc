// Which exit codes a framework's results explain.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/event_lines.h"

namespace compat::parsers::events_exit_codes_test {
namespace {

using namespace testing;

// After `finish`: a framework, how its tests ended, the exit codes that are its own for that, and
// one that is not.
struct Ordinary {
    std::string name;
    std::string events;
    std::vector<int> codes;
    int other;
    std::string told;  // of the other code, as the module's reason; empty: in a diagnostic
};

class ExitCodes : public ::testing::TestWithParam<Ordinary> {};

TEST_P(ExitCodes, OfTheFrameworkSayNothingNew) {
    const Ordinary& c = GetParam();
    for (const int code : c.codes) {
        const ModuleRecord record =
            parse_events(c.events, {ProcessEnd::Kind::exited, code, {}}, "m.py").record;
        EXPECT_EQ(name_of(record.outcome), name_of(ModuleOutcome::completed)) << code;
        EXPECT_EQ(record.reason, "") << code;
        EXPECT_THAT(messages(record), ::testing::IsEmpty()) << code;
    }
}

TEST_P(ExitCodes, OfAnyOtherOriginAreReported) {
    const Ordinary& c = GetParam();
    const ModuleRecord ordinary =
        parse_events(c.events, {ProcessEnd::Kind::exited, c.codes.front(), {}}, "m.py").record;
    ModuleRecord expected = ordinary;
    if (c.told.empty()) {
        expected.diagnostics.push_back(
            {"events", 0,
             fmt::format("exit code {} after its tests, which alone would give 1", c.other)});
    } else {
        CaseRecord row;
        row.name = "<module>";
        row.id = "m.py::" + row.name;
        if (!ordinary.cases.empty() && ordinary.cases.front().id == row.id) row.id += "#2";
        row.state = State::crashed;
        row.reason = c.told;
        row.phase = Phase::load;
        row.pseudo = true;
        expected.cases.push_back(row);
        ++expected.collected;
        expected.outcome = ModuleOutcome::crashed;
        expected.reason = c.told;
    }
    EXPECT_EQ(parse_events(c.events, {ProcessEnd::Kind::exited, c.other, {}}, "m.py").record,
              expected);
}

const std::string kSkippedModule = pseudo("m.py::<module>") + std::string(kReady) +
                                   ended("m.py::<module>", "skipped") + std::string(kFinish);
const std::string kStoppedEarly = collected("m.py::a") + collected("m.py::b") +
                                  std::string(kReady) + start("m.py::a") +
                                  ended("m.py::a", "passed") + std::string(kFinish);
const std::string kSubtestFailed =
    session_of("unittest") + collected("m.py::a") + std::string(kReady) + start("m.py::a") +
    R"j({"event":"subtest","pid":7,"id":"m.py::a","label":"(i=1)","state":"failed"})j"
    "\n" +
    passed("m.py::a") + std::string(kFinish);
const std::string kClassNeverStarted = session_of("unittest") + collected("m.py::A::a") +
                                       std::string(kReady) + fixture("m.py::A::<setUpClass>");

std::string alone(int code, std::string_view expected) {
    return fmt::format("exit code {} after its tests, which alone would give {}", code, expected);
}

const std::vector<Ordinary> kOrdinary{
    {"unittest_passed", finished("unittest", "passed"), {0}, 7, alone(7, "0")},
    {"unittest_passed_no_tests_code", finished("unittest", "passed"), {0}, 5, alone(5, "0")},
    {"unittest_skipped", finished("unittest", "skipped"), {0, 5}, 1, alone(1, "0 or 5")},
    {"unittest_xfailed", finished("unittest", "xfailed"), {0}, 1, alone(1, "0")},
    {"unittest_xpassed", finished("unittest", "xpassed"), {1}, 7, ""},
    {"unittest_failed", finished("unittest", "failed"), {1}, 7, ""},
    {"unittest_errored", finished("unittest", "errored"), {1}, 2, ""},
    {"unittest_subtest_failed", kSubtestFailed, {1}, 7, ""},
    {"unittest_module_skipped",
     session_of("unittest") + kSkippedModule,
     {0, 5},
     7,
     alone(7, "0 or 5")},
    {"unittest_class_skipped",
     kClassNeverStarted + ended("m.py::A::a", "skipped") + std::string(kFinish),
     {0, 5},
     1,
     alone(1, "0 or 5")},
    {"unittest_class_errored",
     kClassNeverStarted + ended("m.py::A::a", "errored") + std::string(kFinish),
     {1, 5},
     7,
     ""},
    {"pytest_passed", finished("pytest", "passed"), {0}, 1, alone(1, "0")},
    {"pytest_skipped", finished("pytest", "skipped"), {0}, 5, alone(5, "0")},
    {"pytest_xfailed", finished("pytest", "xfailed"), {0}, 2, alone(2, "0")},
    {"pytest_xpassed", finished("pytest", "xpassed"), {0}, 7, alone(7, "0")},
    {"pytest_failed", finished("pytest", "failed"), {1}, 7, ""},
    {"pytest_errored", finished("pytest", "errored"), {1}, 2, ""},
    {"pytest_module_skipped", session_of("pytest") + kSkippedModule, {5, 0}, 7, alone(7, "0 or 5")},
    {"pytest_stopped_early", session_of("pytest") + kStoppedEarly, {2, 1, 0}, 7, alone(7, "0")},
};

INSTANTIATE_TEST_SUITE_P(All, ExitCodes, ::testing::ValuesIn(kOrdinary),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace compat::parsers::events_exit_codes_test
