// A module's outcome and its tests' states by how the process ended.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parsers/event_lines.h"

namespace compat::parsers::events_endings_test {
namespace {

using namespace testing;
using ::testing::ElementsAre;

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
     {}},
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

}  // namespace
}  // namespace compat::parsers::events_endings_test
