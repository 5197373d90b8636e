// Events into records: what the harness wrote under many Pythons, and files that no harness would
// write.
#include "parsers/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "parsers/attempt.h"
#include "parsers/import/importers.h"
#include "parsers/outcomes.h"
#include "tests/parsers/event_lines.h"
#include "tests/parsers/golden_files.h"

namespace compat::parsers::events_test {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
        read_attempt({golden.read(".events.jsonl"), log, "", {}, {}, read_attempt_log},
                     golden.framework, golden.module, golden.harness_end());
    const ModuleRecord by_text =
        golden.framework == "pytest"
            ? read_attempt_log(Framework::pytest, log, golden.harness_end(), golden.module)
            : read_attempt_log(Framework::unittest, log, golden.harness_end(), golden.module);
    ASSERT_FALSE(by_events.framework_version.empty());
    EXPECT_THAT(messages(by_events), ::testing::IsEmpty());
    // The one module that dies; no other's exit status passes for a death.
    EXPECT_EQ(by_events.outcome == ModuleOutcome::crashed, golden.module == "test_crash.py");
    for (const CaseRecord& told : by_text.cases) {
        if (told.pseudo || is_unnamed(told)) continue;
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
    EXPECT_EQ(
        read_attempt({events(""), log, "", {}, {}, read_attempt_log}, "unittest", "m.py", kExit0)
            .closing->ran,
        9);
}

// The shim answers for CUDA's symbols only where it redirects CUDA or simulates it.
TEST(Attempt, ASymbolOfCudaIsTheShimsOnlyIfItAnswersForCuda) {
    const std::string events =
        numbered(0, "session", R"(,"format":1,"framework":"unittest")") +
        numbered(1, "collected", with_id("m.py::a")) + numbered(2, "ready") +
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
        const ModuleRecord record = read_attempt({events, "", devices}, "unittest", "m.py", kExit0);
        return record.cases.at(0).failure->diagnosis->rule;
    };
    EXPECT_EQ(rule_with("", ""), "no-device");
    EXPECT_EQ(rule_with("none", R"("mps")"), "no-device");
    EXPECT_EQ(rule_with("missing", "null"), "cuda-symbol-of-torch");
    EXPECT_EQ(rule_with("missing", R"("mps")"), "cuda-symbol-of-torch");
    EXPECT_EQ(rule_with("none", R"("cuda")"), "cuda-symbol-of-torch");
}

}  // namespace
}  // namespace compat::parsers::events_test
