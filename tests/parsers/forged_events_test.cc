// Tests events that the harness did not write, and an attempt's files that contradict each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"
#include "parsers/import/importers.h"
#include "runner/analysis/accounting.h"
#include "runner/base/line_mac.h"
#include "tests/parsers/event_lines.h"

namespace compat::parsers::forged_events_test {
namespace {

using namespace parsers::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kKey(32, 'k'), kRuleLine(70, '-');

// The lines, each with its MAC.
std::string signed_by(const std::string& key, std::string_view lines) {
    std::string text;
    LineSplitter splitter;
    splitter.feed(lines, [&](const Line& line) {
        const std::string body(line.text.substr(0, line.text.size() - 1));
        text += fmt::format(R"({}, "mac": "{}"}})", body, mac_of(body, key)) + '\n';
    });
    return text;
}

std::string session(std::string_view framework) {
    return numbered(0, "session", fmt::format(R"(,"format":1,"framework":"{}")", framework));
}

// One test, which has begun.
std::string one_begun(std::string_view framework = "unittest") {
    return session(framework) + numbered(1, "collected", with_id("m.py::a")) +
           numbered(2, "ready") + numbered(3, "start", with_id("m.py::a"));
}

std::string end(int seq, std::string_view state) {
    return numbered(seq, "end", with_id("m.py::a", fmt::format(R"(,"state":"{}")", state)));
}

std::string finish(int seq, std::string_view closing, std::string_view more = {}) {
    std::string escaped(closing);
    for (size_t at = 0; (at = escaped.find('\n', at)) != escaped.npos; at += 2)
        escaped.replace(at, 1, "\\n");
    return numbered(seq, "finish",
                    fmt::format(R"(,"collected":1,"ended":1,"closing":"{}"{})", escaped, more));
}

std::string unittest_closing(int ran, std::string_view verdict) {
    return fmt::format("{}\nRan {} test{} in 0.001s\n\n{}\n", kRuleLine, ran, ran == 1 ? "" : "s",
                       verdict);
}

ModuleRecord read(const std::string& events, const std::string& log = {},
                  std::string_view framework = "unittest", const ProcessEnd& how = kExit0,
                  const std::string& key = kKey) {
    AttemptFiles files{events, log, ""};
    files.key = key;
    files.log_reader = read_attempt_log;
    return read_attempt(files, framework, "m.py", how);
}

std::vector<std::string> mismatches(const ModuleRecord& record) {
    std::vector<std::string> texts;
    for (const analysis::Mismatch& mismatch : analysis::account(record).mismatches)
        texts.push_back(mismatch.text());
    return texts;
}

TEST(SignedEvents, LinesWithoutTheKeysMacAreDropped) {
    const std::string other(32, 'o');
    const std::string closing = unittest_closing(1, "FAILED (failures=1)");
    const std::string events = signed_by(kKey, one_begun()) + end(4, "passed") +
                               signed_by(other, finish(5, unittest_closing(1, "OK"))) +
                               signed_by(kKey, end(4, "failed")) +
                               signed_by(kKey, finish(5, closing));
    const ModuleRecord record = read(events, closing, "unittest", kExit1);
    EXPECT_THAT(rows(record), ElementsAre("m.py::a failed"));
    EXPECT_THAT(messages(record),
                ElementsAre(HasSubstr("2 line(s) that the harness did not write, dropped")));
    EXPECT_THAT(mismatches(record), IsEmpty()) << "the harness's lines are whole";
}

TEST(SignedEvents, AForgedFinishBeforeAnExitIsNoPass) {
    const std::string events =
        signed_by(kKey, one_begun()) + end(4, "passed") + finish(5, unittest_closing(1, "OK"));
    EXPECT_THAT(rows(read(events)), ElementsAre("m.py::a crashed: exit code 0"));
}

TEST(SignedEvents, ALineThatWasChangedOrRepeatedIsDropped) {
    std::string events = signed_by(kKey, one_begun() + end(4, "failed"));
    const std::string again = signed_by(kKey, end(4, "failed"));
    events.replace(events.find("failed"), 6, "passed");
    EXPECT_THAT(rows(read(events, "", "unittest", kExit1)),
                ElementsAre("m.py::a crashed: exit code 1"));
    const ModuleRecord record = read(signed_by(kKey, one_begun() + end(4, "failed")) + again);
    EXPECT_THAT(messages(record),
                ElementsAre(HasSubstr("1 line(s) that the harness did not write, dropped")));
}

TEST(SignedEvents, AFileThatATestHasReplacedIsNotReadAndCounts) {
    const std::string closing = unittest_closing(1, "OK");
    const std::string forged = one_begun() + end(4, "passed") + finish(5, closing);
    const std::string log = "test_a (m.A.test_a) ... ok\n\n" + closing;
    const ModuleRecord record = read(forged, log);
    EXPECT_TRUE(record.from_text);
    EXPECT_THAT(mismatches(record),
                ElementsAre("byte 0: contradiction: no events that can be read; the log's text was "
                            "read instead"));
    EXPECT_THAT(mismatches(read(forged, log, "unittest", kExit0, "")), IsEmpty()) << "no key";
    EXPECT_THAT(mismatches(read("", "No module named x\n", "unittest", kExit1)), IsEmpty());
    EXPECT_THAT(mismatches(read("", log, "unittest", {ProcessEnd::Kind::exited, 74, {}})),
                Not(::testing::Contains(HasSubstr("contradiction"))))
        << "the harness could not write";
}

TEST(SignedEvents, WithoutTheKeyLinesWithoutAnyMacAreDropped) {
    const std::string events =
        signed_by(kKey, one_begun()) + end(4, "passed") + signed_by(kKey, end(4, "failed"));
    EXPECT_THAT(rows(read(events, "", "unittest", kExit1, "")),
                ElementsAre("m.py::a failed", HasSubstr("m.py::<module> crashed: exit code 1")));
}

TEST(SignedEvents, ALastLineThatIsCutOffIsSaidToBe) {
    const std::string events = signed_by(kKey, one_begun()) + R"({"event":"en)";
    EXPECT_THAT(messages(read(events)),
                ElementsAre(HasSubstr("the last line was cut off; skipped")));
}

// A suite that calls the harness's own functions.
TEST(SignedEvents, WhatTheHarnessWritesAfterItsFinishIsAContradiction) {
    const std::string closing = unittest_closing(1, "OK");
    const ModuleRecord record =
        read(signed_by(kKey, one_begun() + end(4, "passed") + finish(5, closing) +
                                 end(6, "failed") + finish(7, closing)),
             closing);
    EXPECT_THAT(rows(record), ElementsAre("m.py::a passed"));
    EXPECT_THAT(
        mismatches(record),
        ElementsAre(HasSubstr("contradiction: the harness wrote 2 line(s) after its finish")));
}

struct Closing {
    std::string name, framework, own, log;
    bool contradicts;
    std::string more{};
};
std::ostream& operator<<(std::ostream& out, const Closing& closing) { return out << closing.name; }

class ClosingsInLogs : public ::testing::TestWithParam<Closing> {};

TEST_P(ClosingsInLogs, OfTheLogAreComparedWithTheFrameworksOwn) {
    const auto& [name, framework, own, log, contradicts, more] = GetParam();
    const ModuleRecord record =
        read(signed_by(kKey, one_begun(framework) + end(4, "passed") + finish(5, own, more)), log,
             framework);
    EXPECT_EQ(mismatches(record).size(), contradicts ? 1u : 0u);
    for (const std::string& text : mismatches(record))
        EXPECT_THAT(text, HasSubstr("contradiction: the closing line in the log is \""));
    EXPECT_THAT(rows(record), ElementsAre("m.py::a passed"));
    const bool missing = log.find("Ran ") == log.npos && log.find(" in 0.12s ") == log.npos &&
                         log.find(" in 0.12s\n") == log.npos && log.find("0.12s\x1b") == log.npos;
    EXPECT_EQ(messages(record).size(), contradicts || missing ? 1u : 0u);
    if (missing)
        EXPECT_THAT(messages(record), ElementsAre(HasSubstr("its closing line is not in the log")));
}

const std::string kOk = unittest_closing(1, "OK"), kPassed = "1 passed in 0.00s";
const std::string kBroken = unittest_closing(1, "FAILED (failures=1)");
const std::string kNested = "test_n (n.A.test_n) ... ok\n\n" + unittest_closing(9, "OK");

INSTANTIATE_TEST_SUITE_P(
    Of, ClosingsInLogs,
    ::testing::Values(
        Closing{"equal", "unittest", kOk, kOk, false},
        Closing{"other_failures", "unittest", kOk, kBroken, true},
        Closing{"other_number", "unittest", kOk, unittest_closing(3, "OK"), true},
        Closing{"none_in_the_log", "unittest", kOk, "test_a ... ok\n", false},
        Closing{"not_in_the_log", "unittest", kOk, kBroken, false, R"(,"closing_in_log":false)"},
        Closing{"a_tests_own_before", "unittest", kOk, kNested + kOk, false},
        Closing{"an_exit_functions_own_after", "unittest", kOk, kOk + kNested, false},
        Closing{"equal_in_pytest", "pytest", kPassed, "=== 1 passed in 0.12s ===\n", false},
        Closing{"quiet", "pytest", kPassed, "1 passed in 0.12s\n", false},
        Closing{"in_colours", "pytest", kPassed,
                "\x1b[32m=== \x1b[32m\x1b[1m1 passed\x1b[0m\x1b[32m in 0.12s\x1b[0m\x1b[32m ==="
                "\x1b[0m\n",
                false},
        Closing{"warnings", "pytest", "1 passed, 1 deselected in 0.00s",
                "=== 1 passed, 2 deselected, 3 warnings in 0.12s ===\n", false},
        Closing{"other_line_of_a_plugin", "pytest", kPassed, "Results (0.12s):\n  1 passed\n",
                false},
        Closing{"broken_in_pytest", "pytest", kPassed, "=== 1 failed in 0.12s ===\n", true},
        Closing{"a_pytest_in_a_test", "pytest", kPassed,
                "=== 7 failed in 0.12s ===\n=== 1 passed in 0.12s ===\n", false}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace compat::parsers::forged_events_test
