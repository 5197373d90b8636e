// Events into records: what the harness wrote under many Pythons, and files that no harness would
// write.
#include "parsers/events.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"
#include "parsers/pytest_text.h"
#include "parsers/unittest_text.h"
#include "tests/parsers/golden_files.h"

namespace compat::parsers {
namespace {

using ::testing::ElementsAre;
using testing::Golden;
using ::testing::HasSubstr;

constexpr std::string_view kSession =
    R"({"event":"session","pid":7,"format":1,"framework":"unittest","framework_version":"3.11.2","python":"3.11.2"})"
    "\n";

std::string collected(std::string_view id) {
    return fmt::format(
        R"({{"event":"collected","pid":7,"id":"{}","name":"n","file":"/s/m.py","line":3}})"
        "\n",
        id);
}
std::string start(std::string_view id) {
    return fmt::format(R"({{"event":"start","pid":7,"id":"{}","time":1.5}})"
                       "\n",
                       id);
}
std::string passed(std::string_view id) {
    return fmt::format(
        R"({{"event":"end","pid":7,"id":"{}","state":"passed","phase":"call","duration_s":0.25}})"
        "\n",
        id);
}
constexpr std::string_view kReady = R"({"event":"ready","pid":7,"collected":3})"
                                    "\n";

// Three tests: the first has ended, the second has begun.
std::string begun() {
    return std::string(kSession) + collected("m.py::A::a") + collected("m.py::A::b") +
           collected("m.py::A::c") + std::string(kReady) + start("m.py::A::a") +
           passed("m.py::A::a") + start("m.py::A::b");
}
// As above, the second ended, too.
std::string between() { return begun() + passed("m.py::A::b"); }

constexpr std::string_view kFinish = R"({"event":"finish","pid":7})"
                                     "\n";

std::string session_of(std::string_view framework) {
    return fmt::format(R"({{"event":"session","pid":7,"format":1,"framework":"{}"}})"
                       "\n",
                       framework);
}
// An end in `state`; where it broke, of an exception of this type.
std::string ended(std::string_view id, std::string_view state, std::string_view type = "E") {
    const bool broke = state == "failed" || state == "errored";
    const std::string failure =
        broke ? fmt::format(R"(,"failure":{{"type":"{}","message":"0"}})", type) : std::string();
    return fmt::format(R"({{"event":"end","pid":7,"id":"{}","state":"{}","phase":"call"{}}})"
                       "\n",
                       id, state, failure);
}
std::string pseudo(std::string_view id) {
    return fmt::format(R"({{"event":"collected","pid":7,"id":"{}","pseudo":true}})"
                       "\n",
                       id);
}
std::string fixture(std::string_view id) {
    return fmt::format(R"({{"event":"fixture","pid":7,"id":"{}"}})"
                       "\n",
                       id);
}
// One test that ended in `state`, and the framework that returned after it.
std::string finished(std::string_view framework, std::string_view state) {
    return session_of(framework) + collected("m.py::a") + std::string(kReady) + start("m.py::a") +
           ended("m.py::a", state) + std::string(kFinish);
}

std::vector<std::string> rows(const ModuleRecord& record) {
    std::vector<std::string> out;
    for (const CaseRecord& c : record.cases)
        out.push_back(fmt::format("{} {}{}{}", c.id, name_of(c.state), c.reason.empty() ? "" : ": ",
                                  c.reason));
    return out;
}

std::vector<std::string> messages(const ModuleRecord& record) {
    std::vector<std::string> out;
    for (const Diagnostic& d : record.diagnostics)
        out.push_back(fmt::format("{}@{}: {}", d.file, d.offset, d.message));
    return out;
}

const ProcessEnd kExit0{ProcessEnd::Kind::exited, 0, {}};
const ProcessEnd kExit1{ProcessEnd::Kind::exited, 1, {}};
const ProcessEnd kExit3{ProcessEnd::Kind::exited, 3, {}};
const ProcessEnd kSigint{ProcessEnd::Kind::signaled, 2, "SIGINT"};
const ProcessEnd kSegv{ProcessEnd::Kind::signaled, 11, "SIGSEGV"};
const ProcessEnd kTimeout{ProcessEnd::Kind::timed_out, 0, "after 30m"};
const ProcessEnd kStopped{ProcessEnd::Kind::stopped, 0, "interrupted"};

struct Ending {
    std::string name;
    std::string events;
    ProcessEnd end;
    ModuleOutcome outcome;
    std::string reason;
    std::vector<std::string> rows;
};

class Endings : public ::testing::TestWithParam<Ending> {};

TEST_P(Endings, GiveEachTestOneState) {
    const Ending& c = GetParam();
    const ModuleRecord record = parse_events(c.events, c.end, "m.py").record;
    EXPECT_EQ(name_of(record.outcome), name_of(c.outcome));
    EXPECT_EQ(record.reason, c.reason);
    EXPECT_EQ(rows(record), c.rows);
    EXPECT_EQ(record.collected, static_cast<std::int64_t>(record.cases.size()));
}

const std::vector<Ending> kEndings{
    {"a_crash_in_a_test",
     begun(),
     kSegv,
     ModuleOutcome::crashed,
     "SIGSEGV in m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b crashed: SIGSEGV",
      "m.py::A::c not_run: the module crashed in m.py::A::b"}},
    {"an_exit_in_a_test",
     begun(),
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 in m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b crashed: exit code 3",
      "m.py::A::c not_run: the module crashed in m.py::A::b"}},
    {"an_orderly_looking_exit_in_a_test",
     begun(),
     kExit0,
     ModuleOutcome::crashed,
     "exit code 0 in m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b crashed: exit code 0",
      "m.py::A::c not_run: the module crashed in m.py::A::b"}},
    {"a_time_out_in_a_test",
     begun(),
     kTimeout,
     ModuleOutcome::timed_out,
     "timed out after 30m in m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b timed_out: timed out after 30m",
      "m.py::A::c not_run: the module timed out in m.py::A::b"}},
    {"an_interrupt_in_a_test",
     begun(),
     kStopped,
     ModuleOutcome::interrupted,
     "interrupted",
     {"m.py::A::a passed", "m.py::A::b not_run: interrupted", "m.py::A::c not_run: interrupted"}},
    {"an_exit_between_tests",
     between(),
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 outside any test, after m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b passed",
      "m.py::A::c not_run: the process ended with exit code 3 before it ran",
      "m.py::<module> crashed: exit code 3 outside any test, after m.py::A::b"}},
    {"a_crash_in_a_class_fixture",
     between() + R"({"event":"fixture","pid":7,"id":"m.py::B::<setUpClass>"})"
                 "\n",
     kSegv,
     ModuleOutcome::crashed,
     "SIGSEGV in m.py::B::<setUpClass>",
     {"m.py::A::a passed", "m.py::A::b passed",
      "m.py::A::c not_run: the process ended with SIGSEGV in m.py::B::<setUpClass> before it ran",
      "m.py::B::<setUpClass> crashed: SIGSEGV in m.py::B::<setUpClass>"}},
    {"a_time_out_between_tests",
     between(),
     kTimeout,
     ModuleOutcome::timed_out,
     "timed out after 30m outside any test, after m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b passed",
      "m.py::A::c not_run: the module timed out before it ran",
      "m.py::<module> timed_out: timed out after 30m outside any test, after m.py::A::b"}},
    {"a_crash_while_loading",
     std::string(kSession),
     kSegv,
     ModuleOutcome::crashed,
     "SIGSEGV while the module was loaded",
     {"m.py::<module> crashed: SIGSEGV while the module was loaded"}},
    {"a_time_out_while_loading",
     std::string(kSession),
     kTimeout,
     ModuleOutcome::timed_out,
     "timed out after 30m while the module was loaded",
     {"m.py::<module> timed_out: timed out after 30m while the module was loaded"}},
    {"no_events_at_all",
     "",
     kExit0,
     ModuleOutcome::crashed,
     "exit code 0 while the module was loaded",
     {"m.py::<module> crashed: exit code 0 while the module was loaded"}},
    {"an_interrupt_while_loading",
     std::string(kSession),
     kStopped,
     ModuleOutcome::interrupted,
     "interrupted",
     {"m.py::<module> not_run: interrupted"}},
    {"a_child_that_could_not_start",
     "",
     {ProcessEnd::Kind::spawn_failed, 0, "No such file"},
     ModuleOutcome::spawn_failed,
     "could not be started: No such file",
     {"m.py::<module> not_run: could not be started: No such file"}},
    {"a_job_that_was_never_started",
     "",
     {ProcessEnd::Kind::not_run, 0, "stopped by -x"},
     ModuleOutcome::not_run,
     "stopped by -x",
     {}},
    {"a_crash_after_everything",
     std::string(kSession) + collected("m.py::a") + std::string(kReady) + start("m.py::a") +
         passed("m.py::a") +
         R"({"event":"finish","pid":7,"collected":1,"ended":1})"
         "\n",
     kSegv,
     ModuleOutcome::crashed,
     "SIGSEGV at exit, after its tests",
     {"m.py::a passed", "m.py::<module> crashed: SIGSEGV at exit, after its tests"}},
    {"a_hang_after_everything",
     std::string(kSession) + collected("m.py::a") + std::string(kReady) + start("m.py::a") +
         passed("m.py::a") +
         R"({"event":"finish","pid":7,"collected":1,"ended":1})"
         "\n",
     kTimeout,
     ModuleOutcome::timed_out,
     "timed out after 30m at exit, after its tests",
     {"m.py::a passed", "m.py::<module> timed_out: timed out after 30m at exit, after its tests"}},
    {"no_tests",
     std::string(kSession) + R"({"event":"finish","pid":7,"collected":0})"
                             "\n",
     {ProcessEnd::Kind::exited, 5, {}},
     ModuleOutcome::no_tests,
     "it holds no tests",
     {}},
    {"an_exit_that_a_test_asked_for",
     begun() + ended("m.py::A::b", "errored", "Exit"),
     kExit0,
     ModuleOutcome::crashed,
     "exit code 0 by Exit in m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b errored",
      "m.py::A::c not_run: exit code 0 by Exit in m.py::A::b"}},
    {"an_interrupt_that_a_test_raised",
     begun() + ended("m.py::A::b", "errored", "KeyboardInterrupt"),
     kSigint,
     ModuleOutcome::crashed,
     "SIGINT by KeyboardInterrupt in m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b errored",
      "m.py::A::c not_run: SIGINT by KeyboardInterrupt in m.py::A::b"}},
    {"an_exit_that_a_fixture_asked_for",
     std::string(kSession) + collected("m.py::a") + collected("m.py::b") + std::string(kReady) +
         fixture("m.py::<setUpModule>") + ended("m.py::a", "errored", "SystemExit") +
         ended("m.py::b", "errored", "SystemExit"),
     kExit0,
     ModuleOutcome::crashed,
     "exit code 0 by SystemExit in m.py::<setUpModule>",
     {"m.py::a errored", "m.py::b errored"}},
    {"an_error_of_pytest_itself",
     between() + pseudo("m.py::<session>") + ended("m.py::<session>", "errored", "OSError"),
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 by OSError in m.py::<session>",
     {"m.py::A::a passed", "m.py::A::b passed",
      "m.py::A::c not_run: exit code 3 by OSError in m.py::<session>", "m.py::<session> errored"}},
    {"an_exit_that_nobody_asked_for",
     begun() + ended("m.py::A::b", "errored", "OSError"),
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 outside any test, after m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b errored",
      "m.py::A::c not_run: the process ended with exit code 3 before it ran",
      "m.py::<module> crashed: exit code 3 outside any test, after m.py::A::b"}},
    {"a_signal_after_an_exit_that_was_asked_for",
     begun() + ended("m.py::A::b", "errored", "SystemExit"),
     kSegv,
     ModuleOutcome::crashed,
     "SIGSEGV outside any test, after m.py::A::b",
     {"m.py::A::a passed", "m.py::A::b errored",
      "m.py::A::c not_run: the process ended with SIGSEGV before it ran",
      "m.py::<module> crashed: SIGSEGV outside any test, after m.py::A::b"}},
    {"an_exit_in_a_fixture_after_a_caught_one",
     begun() + ended("m.py::A::b", "errored", "SystemExit") + fixture("m.py::A::<tearDownClass>"),
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 in m.py::A::<tearDownClass>",
     {"m.py::A::a passed", "m.py::A::b errored",
      "m.py::A::c not_run: the process ended with exit code 3 in m.py::A::<tearDownClass> before "
      "it ran",
      "m.py::A::<tearDownClass> crashed: exit code 3 in m.py::A::<tearDownClass>"}},
    {"a_crash_in_the_test_after_a_caught_exit",
     begun() + ended("m.py::A::b", "errored", "SystemExit") + start("m.py::A::c"),
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 in m.py::A::c",
     {"m.py::A::a passed", "m.py::A::b errored", "m.py::A::c crashed: exit code 3"}},
    {"no_tests_and_a_bad_exit",
     std::string(kSession) + R"({"event":"finish","pid":7,"collected":0})"
                             "\n",
     kExit3,
     ModuleOutcome::crashed,
     "exit code 3 without any test",
     {"m.py::<module> crashed: exit code 3 without any test"}},
};

INSTANTIATE_TEST_SUITE_P(All, Endings, ::testing::ValuesIn(kEndings),
                         [](const auto& row) { return row.param.name; });

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

TEST_P(ExitCodes, OfAnyOtherOriginAreTold) {
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

TEST(Events, KeepEveryKeyOfATest) {
    const std::string events =
        std::string(kSession) +
        R"({"event":"collected","pid":7,"id":"m.py::A::a","name":"m.A.a","file":"/s/m.py","line":12,"new":[1]})"
        "\n" +
        std::string(kReady) + start("m.py::A::a") +
        R"j({"event":"subtest","pid":7,"id":"m.py::A::a","label":"(i=1)","state":"failed","failure":{"type":"E","message":"one"}})j"
        "\n"
        R"({"event":"end","pid":7,"id":"m.py::A::a","state":"errored","phase":"teardown","duration_s":0.5,"reason":"r","call":"skipped","failure":{"type":"OSError","message":"m","traceback":"t","phase":"teardown","frames":[{"file":"/s/m.py","line":4,"function":"f"}]},"also":[{"type":"X","counted":"failed"}]})"
        "\n"
        R"({"event":"unheard of","pid":7})"
        "\n"
        R"({"event":"finish","pid":7,"collected":1,"ended":1})"
        "\n";
    const EventsResult result = parse_events(events, kExit1, "m.py");
    ASSERT_TRUE(result.usable);
    ModuleRecord expected;
    expected.path = "m.py";
    CaseRecord c;
    c.id = "m.py::A::a";
    c.name = "m.A.a";
    c.state = State::errored;
    c.phase = Phase::teardown;
    c.reason = "r";
    c.duration_s = 0.5;
    c.location = {"/s/m.py", 12};
    c.started = true;
    c.call_state = State::skipped;
    c.failure = Failure{"OSError", "m", "t", {{"/s/m.py", 4, "f"}}, Phase::teardown, {}, {}, {}};
    c.also = {Failure{"X", "", "", {}, Phase::call, State::failed, {}, {}}};
    c.subcases = {
        SubCase{"(i=1)", State::failed, "", Failure{"E", "one", "", {}, Phase::call, {}, {}, {}}}};
    EXPECT_THAT(result.record.cases, ElementsAre(c));
    EXPECT_EQ(result.record.outcome, ModuleOutcome::completed);
    EXPECT_TRUE(result.record.finished);
    EXPECT_EQ(result.record.framework, "unittest");
    EXPECT_EQ(result.record.framework_version, "3.11.2");
    EXPECT_EQ(result.record.python_version, "3.11.2");
    EXPECT_THAT(result.record.diagnostics, ::testing::IsEmpty());
}

TEST(Events, OfOtherProcessesAreDroppedAndCounted) {
    const std::string foreign = R"({"event":"end","pid":8,"id":"m.py::A::b","state":"failed"})"
                                "\n";
    const std::string events = begun() + foreign + foreign + passed("m.py::A::b");
    const ModuleRecord record = parse_events(events, kStopped, "m.py").record;
    EXPECT_EQ(record.cases[1].state, State::passed);
    EXPECT_THAT(messages(record), ElementsAre(fmt::format(
                                      "events@{}: 2 line(s) of other processes, dropped; the first "
                                      "one here",
                                      begun().size())));
}

TEST(Events, WhoseTextWasLeftOutAreCountedInOneDiagnostic) {
    const std::string events =
        begun() +
        R"x({"event":"subtest","pid":7,"id":"m.py::A::b","label":"(i=1)","state":"failed",)x"
        R"("failure":{"type":"E","message":"key","left_out":1000}})"
        "\n"
        R"({"event":"end","pid":7,"id":"m.py::A::b","state":"failed",)"
        R"("failure":{"type":"E","message":"key","left_out":20},"also":[{"type":"F","left_out":3}]})"
        "\n";
    const ModuleRecord record = parse_events(events, kStopped, "m.py").record;
    EXPECT_EQ(record.cases[1].failure->message, "key");
    EXPECT_EQ(record.cases[1].also.size(), 1u);
    EXPECT_THAT(messages(record),
                ElementsAre(fmt::format("events@{}: the text of 3 failure(s) was left out, 1023 "
                                        "bytes: limits.events_bytes is reached; the first one here",
                                        begun().size())));
}

TEST(Events, ThatAreBrokenAreDiagnosedWithTheirOffset) {
    const std::string head = begun();
    const std::string events = head + "no json\n" + "[1]\n" + std::string(100, '[') + "\n" +
                               R"({"event":"end","pid":7})"
                               "\n" +
                               passed("m.py::A::b") + R"({"event":"sta)";
    const ModuleRecord record = parse_events(events, kStopped, "m.py").record;
    EXPECT_EQ(record.cases[1].state, State::passed);
    EXPECT_THAT(
        messages(record),
        ElementsAre(
            fmt::format("events@{}: the line is not a JSON object; skipped", head.size()),
            HasSubstr("not a JSON object"), HasSubstr("nests too deep"),
            HasSubstr("an end without an id"),
            fmt::format("events@{}: the last line was cut off; skipped", events.rfind('{'))));
}

TEST(Events, OfANewerFormatAreRefusedWhole) {
    const std::string events = R"({"event":"session","pid":7,"format":2,"framework":"unittest"})"
                               "\n" +
                               collected("m.py::a");
    const EventsResult result = parse_events(events, kExit0, "m.py");
    EXPECT_FALSE(result.usable);
    EXPECT_THAT(messages(result.record), ElementsAre(HasSubstr("format 2 is newer")));
    EXPECT_THAT(rows(result.record), ElementsAre(HasSubstr("m.py::<module> crashed")));
}

TEST(Events, OfAnUnannouncedTestAreKeptAndShowInTheCount) {
    const std::string events = std::string(kSession) + std::string(kReady) + passed("m.py::late") +
                               R"({"event":"finish","pid":7,"collected":0,"ended":0})"
                               "\n";
    const ModuleRecord record = parse_events(events, kExit0, "m.py").record;
    EXPECT_THAT(rows(record), ElementsAre("m.py::late passed"));
    EXPECT_EQ(record.collected, 0);
    EXPECT_THAT(messages(record), ElementsAre(HasSubstr("was not collected: m.py::late")));
}

TEST(Events, WithAnUnknownStateAreErrored) {
    const std::string events = begun() +
                               R"({"event":"end","pid":7,"id":"m.py::A::b","state":"fine"})"
                               "\n";
    EXPECT_EQ(parse_events(events, kStopped, "m.py").record.cases[1].state, State::errored);
}

// The two ways of reading one and the same run: events, and the text beside them.
class EventsAndText : public ::testing::TestWithParam<Golden> {};

TEST_P(EventsAndText, AgreeOnEveryTest) {
    const Golden& golden = GetParam();
    const std::string log = golden.read(".harness.log");
    const ModuleRecord by_events =
        read_attempt({golden.read(".events.jsonl"), log, ""}, golden.framework, golden.module,
                     golden.harness_end());
    const ModuleRecord by_text =
        golden.framework == "pytest"
            ? parse_pytest_text(log, golden.harness_end(), golden.module)
            : parse_unittest_text(log, golden.harness_end(), golden.module);
    ASSERT_FALSE(by_events.framework_version.empty());
    EXPECT_THAT(messages(by_events), ::testing::IsEmpty());
    // The one module that dies; no other's exit status passes for a death.
    EXPECT_EQ(by_events.outcome == ModuleOutcome::crashed, golden.module == "test_crash.py");
    for (const CaseRecord& told : by_text.cases) {
        if (told.pseudo) continue;
        const auto known = std::find_if(by_events.cases.begin(), by_events.cases.end(),
                                        [&](const CaseRecord& c) { return c.id == told.id; });
        ASSERT_NE(known, by_events.cases.end()) << told.id;
        // Sub-tests that were skipped are not in the text of pytest, nor of Python 3.9 and 3.10.
        const bool hidden = told.subcases.empty() &&
                            std::any_of(known->subcases.begin(), known->subcases.end(),
                                        [](const SubCase& s) { return s.state == State::skipped; });
        const State own = known->call_state.value_or(known->state);
        if (hidden) {
            EXPECT_TRUE(told.state == known->state || told.state == own) << told.id;
            continue;
        }
        EXPECT_EQ(name_of(known->state), name_of(told.state)) << told.id;
        EXPECT_EQ(name_of(own), name_of(told.call_state.value_or(told.state))) << told.id;
        EXPECT_EQ(known->also.size(), told.also.size()) << told.id;
    }
    // The text names every test that the framework started.
    for (const CaseRecord& known : by_events.cases) {
        if (!known.started || known.pseudo) continue;
        EXPECT_TRUE(std::any_of(by_text.cases.begin(), by_text.cases.end(),
                                [&](const CaseRecord& c) { return c.id == known.id; }))
            << known.id;
    }
}

INSTANTIATE_TEST_SUITE_P(Unittest, EventsAndText, ::testing::ValuesIn(testing::goldens("unittest")),
                         testing::golden_name);
INSTANTIATE_TEST_SUITE_P(Pytest, EventsAndText, ::testing::ValuesIn(testing::goldens("pytest")),
                         testing::golden_name);

// Of a harness that numbers its lines.
std::string numbered(int seq, std::string_view event, std::string_view more = {}) {
    return fmt::format(R"({{"event":"{}","pid":7,"seq":{}{}}})"
                       "\n",
                       event, seq, more);
}
std::string with_id(std::string_view id, std::string_view more = {}) {
    return fmt::format(R"(,"id":"{}"{})", id, more);
}

// A sleep in C that the signal for the stacks cuts short.
TEST(Overdue, ATestThatEndsAfterItsLimitTimedOut) {
    const auto took = [](std::string_view id, double seconds) {
        return fmt::format(R"({{"event":"end","pid":7,"id":"{}","state":"passed","phase":"call",)"
                           R"("duration_s":{}}})"
                           "\n",
                           id, seconds);
    };
    const ProcessEnd end{.kind = ProcessEnd::Kind::timed_out,
                         .detail = "test timed out after 3s",
                         .of_test = true,
                         .limit_s = 3};
    const std::string late = begun() + took("m.py::A::b", 3.1);
    const std::string words = "test timed out after 3s (limits.test_timeout)";

    const ModuleRecord between = parse_events(late, end, "m.py").record;
    EXPECT_THAT(rows(between),
                ElementsAre("m.py::A::a passed", "m.py::A::b timed_out: " + words,
                            "m.py::A::c not_run: the module timed out in m.py::A::b"));
    EXPECT_EQ(between.reason, words + " in m.py::A::b");

    const ModuleRecord next = parse_events(late + start("m.py::A::c"), end, "m.py").record;
    EXPECT_EQ(rows(next), rows(between));

    const ModuleRecord all =
        parse_events(late + start("m.py::A::c") + passed("m.py::A::c") + std::string(kFinish), end,
                     "m.py")
            .record;
    EXPECT_THAT(rows(all), ElementsAre("m.py::A::a passed", "m.py::A::b timed_out: " + words,
                                       "m.py::A::c passed"));
    EXPECT_EQ(name_of(all.outcome), "timed_out");
    EXPECT_EQ(all.cases[1].call_state, State::passed);  // as the framework's closing counts it
}

TEST(Numbered, LinesThatTheHarnessDidNotWriteAreDropped) {
    const std::string passed = R"(,"state":"passed","phase":"call")";
    const std::string failed = R"(,"state":"failed","phase":"call")";
    const std::string forged =
        R"({"event":"end","pid":7,"id":"m.py::a","state":"passed","phase":"call"})"
        "\n";
    const std::string events =
        numbered(0, "session", R"(,"format":1,"framework":"unittest")") +
        numbered(1, "collected", with_id("m.py::a")) + numbered(2, "ready") +
        numbered(3, "start", with_id("m.py::a")) + forged + numbered(3, "finish") +
        numbered(4, "end", with_id("m.py::a", failed)) + numbered(5, "finish") +
        numbered(6, "end", with_id("m.py::a", passed));
    const ModuleRecord record = parse_events(events, kExit1, "m.py").record;
    EXPECT_THAT(rows(record), ElementsAre("m.py::a failed"));
    EXPECT_TRUE(record.finished);
    EXPECT_THAT(messages(record), ElementsAre(HasSubstr("3 line(s) that the harness did not")));
}

TEST(Numbered, AForgedFinishBeforeAnExitIsNoPass) {
    const std::string events = numbered(0, "session", R"(,"format":1,"framework":"unittest")") +
                               numbered(1, "collected", with_id("m.py::a")) + numbered(2, "ready") +
                               numbered(3, "start", with_id("m.py::a")) +
                               ended("m.py::a", "passed") + std::string(kFinish);
    EXPECT_THAT(rows(parse_events(events, kExit0, "m.py").record),
                ElementsAre("m.py::a crashed: exit code 0"));
}

TEST(Numbered, MissingLinesAreNoticed) {
    const std::string events = numbered(0, "session", R"(,"format":1,"framework":"unittest")") +
                               numbered(5, "finish", R"(,"collected":1)");
    const ModuleRecord record = parse_events(events, kExit0, "m.py").record;
    EXPECT_EQ(record.collected, 1);
    EXPECT_THAT(messages(record), ElementsAre(HasSubstr("4 line(s) missing before this one")));
}

TEST(Closing, TheHarnessesIsBelievedBeforeTheLogs) {
    const std::string rule(70, '-');
    const std::string log = rule + "\nRan 9 tests in 0.001s\n\nOK\n";
    const auto events = [&](std::string_view closing) {
        return numbered(0, "session", R"(,"format":1,"framework":"unittest")") +
               numbered(1, "collected", with_id("m.py::a")) + numbered(2, "ready") +
               numbered(3, "start", with_id("m.py::a")) +
               numbered(4, "end", with_id("m.py::a", R"(,"state":"passed")")) +
               numbered(5, "finish", closing);
    };
    const std::string own = fmt::format(R"(,"closing":"{}\nRan 1 test in 0.1s\n\nOK\n")", rule);
    EXPECT_EQ(read_attempt({events(own), log, ""}, "unittest", "m.py", kExit0).closing->ran, 1);
    EXPECT_EQ(read_attempt({events(""), log, ""}, "unittest", "m.py", kExit0).closing->ran, 9);
}

// The shim answers for CUDA's symbols only where it redirects CUDA or simulates it.
TEST(Attempt, ASymbolOfCudaIsTheShimsOnlyIfItAnswersForCuda) {
    const std::string events =
        numbered(0, "session", R"(,"format":1,"framework":"unittest")") + numbered(1, "collected", with_id("m.py::a")) + numbered(2, "ready") +
        numbered(3, "start", with_id("m.py::a")) +
        numbered(4, "end",
                 with_id("m.py::a", R"(,"state":"errored","failure":{"type":"AttributeError",)"
                                    R"("message":"module 'torch._C' has no attribute )"
                                    R"('_cuda_setDevice'"})"));
    const auto rule_with = [&](std::string_view mode, std::string_view simulated) {
        const std::string devices =
            mode.empty() ? ""
                         : fmt::format(R"({{"event":"session","format":1,"shim":"0","torch":"2",)"
                                       R"("host":"cpu","mode":"{}","simulated":{},)"
                                       R"("masquerade":false,"pid":7}})"
                                       "\n",
                                       mode, simulated);
        const ModuleRecord record =
            read_attempt({events, "", devices}, "unittest", "m.py", kExit0);
        return record.cases.at(0).failure->diagnosis->rule;
    };
    EXPECT_EQ(rule_with("", ""), "no-device");
    EXPECT_EQ(rule_with("none", R"("mps")"), "no-device");
    EXPECT_EQ(rule_with("missing", "null"), "cuda-symbol-of-torch");
    EXPECT_EQ(rule_with("missing", R"("mps")"), "cuda-symbol-of-torch");
    EXPECT_EQ(rule_with("none", R"("cuda")"), "cuda-symbol-of-torch");
}

}  // namespace
}  // namespace compat::parsers
