#include "runner/analysis/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "parsers/attempt.h"
#include "parsers/import/importers.h"
#include "tests/parsers/golden_files.h"

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::State;
using parsers::testing::Golden;

std::vector<std::string> texts(const ModuleAccounting& accounting) {
    std::vector<std::string> out;
    for (const Mismatch& m : accounting.mismatches) out.push_back(m.text());
    return out;
}

ModuleRecord by_events(const Golden& golden) {
    return parsers::read_attempt({golden.read(".events.jsonl"), golden.read(".harness.log"), ""},
                                 golden.framework, golden.module, golden.end());
}

// Real runs of every version: the computed closing line equals the printed one.
class RealRuns : public ::testing::TestWithParam<Golden> {};

TEST_P(RealRuns, CloseByEvents) {
    const ModuleRecord record = by_events(GetParam());
    const ModuleAccounting accounting = account(record);
    EXPECT_THAT(texts(accounting), ::testing::IsEmpty());
    EXPECT_EQ(record.closing.has_value(), record.finished);
    EXPECT_EQ(expected_closing(record).has_value(), record.finished);
    std::int64_t sum = 0;
    for (const std::int64_t count : accounting.states) sum += count;
    EXPECT_EQ(sum, accounting.collected);
}

TEST_P(RealRuns, CloseByText) {
    const Golden& golden = GetParam();
    const ModuleRecord record = parsers::read_attempt_log(
        *framework_of(golden.framework), golden.read(".log"), golden.end(), golden.module);
    // Tests that only the closing line counts are one row, and a diagnostic says so.
    EXPECT_EQ(record.diagnostics.empty(), std::ranges::none_of(record.cases, parsers::is_unnamed));
    EXPECT_TRUE(record.finished || record.outcome == parsers::ModuleOutcome::crashed);
    if (!record.finished) return;
    EXPECT_THAT(texts(account(record)), ::testing::IsEmpty());
}

// Without one of the tests, neither the sum nor the closing line agrees.
TEST_P(RealRuns, DoNotCloseIfATestIsMissing) {
    ModuleRecord record = by_events(GetParam());
    const auto last = std::find_if(record.cases.rbegin(), record.cases.rend(),
                                   [](const CaseRecord& c) { return c.started; });
    if (!record.finished || last == record.cases.rend()) return;
    record.cases.erase(std::next(last).base());
    const ModuleAccounting accounting = account(record);
    EXPECT_GE(accounting.mismatches.size(), 2u);
    EXPECT_FALSE(accounting.closed());
}

INSTANTIATE_TEST_SUITE_P(Unittest, RealRuns,
                         ::testing::ValuesIn(parsers::testing::goldens("unittest")),
                         parsers::testing::golden_name);
INSTANTIATE_TEST_SUITE_P(Pytest, RealRuns, ::testing::ValuesIn(parsers::testing::goldens("pytest")),
                         parsers::testing::golden_name);

ModuleRecord finished(std::string framework, std::vector<CaseRecord> cases) {
    ModuleRecord record;
    record.path = "m.py";
    record.framework = std::move(framework);
    record.framework_version = "1";
    record.collected = static_cast<std::int64_t>(cases.size());
    record.cases = std::move(cases);
    record.finished = true;
    return record;
}

CaseRecord test(std::string id, State state) {
    CaseRecord c;
    c.id = std::move(id);
    c.state = state;
    c.started = true;
    return c;
}

TEST(Accounting, NamesBothFigures) {
    ModuleRecord record = finished(
        "unittest", {test("m.py::A::a", State::passed), test("m.py::A::b", State::passed)});
    record.collected = 3;
    record.closing = parsers::FrameworkSummary{.text = "", .ran = 1, .counts = {{"failures", 1}}};
    EXPECT_THAT(
        texts(account(record)),
        ::testing::ElementsAre("2 tests have a result, 3 were collected",
                               "ran: 2 by its tests, 1 by the framework's closing line",
                               "failures: 0 by its tests, 1 by the framework's closing line"));
}

TEST(Accounting, ExpectsNoClosingLineOfAnUnfinishedModule) {
    ModuleRecord record = finished("unittest", {test("m.py::A::a", State::crashed)});
    record.finished = false;
    record.closing =
        parsers::FrameworkSummary{.text = "printed by a test", .ran = 99, .counts = {}};
    EXPECT_TRUE(account(record).closed());
    EXPECT_FALSE(expected_closing(record));
}

// pytest counts skipped and xfailed sub-tests by its version and its verbosity; unittest, each skip.
TEST(Accounting, CountsSubtestsAsTheirFrameworkDoes) {
    CaseRecord with = test("m.py::a", State::passed);
    for (const State state : {State::passed, State::skipped, State::xfailed, State::xfailed})
        with.subcases.push_back({"(i=1)", state, {}, {}});
    ModuleRecord record = finished("pytest", {with});
    const auto said = [&](std::int64_t skipped, std::int64_t xfailed) {
        record.closing = parsers::FrameworkSummary{
            .text = "",
            .ran = {},
            .counts = {{"passed", 1}, {"skipped", skipped}, {"xfailed", xfailed}}};
        return texts(account(record)).size();
    };
    EXPECT_EQ(said(1, 2), 0u);
    EXPECT_EQ(said(1, 0), 0u);
    EXPECT_EQ(said(0, 0), 0u);
    EXPECT_EQ(said(2, 2), 1u);
    EXPECT_EQ(said(1, 3), 1u);
    EXPECT_EQ(expected_closing(finished("unittest", {with}))->counts[2].second, 1);
    // A tear-down that skips counts beside its test.
    CaseRecord skips = test("m.py::a", State::skipped);
    skips.call_state = State::passed;
    record = finished("pytest", {skips});
    EXPECT_EQ(said(1, 0), 0u);
    EXPECT_EQ(said(0, 0), 1u);
}

TEST(Accounting, AcceptsALostClosingLine) {
    EXPECT_TRUE(account(finished("pytest", {test("m.py::a", State::passed)})).closed());
}

// Each test that began counts once, however many failures it has; a disabled one did not begin.
TEST(Accounting, CountsTestsAsGoogleTestAndCTestDo) {
    std::vector<CaseRecord> cases;
    for (const State state : {State::passed, State::failed, State::skipped, State::skipped})
        cases.push_back(test("t::A::" + std::to_string(cases.size()), state));
    for (CaseRecord& c : cases) c.started = true;
    cases[1].failure = parsers::Failure{};
    cases[1].also = {parsers::Failure{}, parsers::Failure{}};
    cases[3].started = false;
    ModuleRecord record = finished("gtest", cases);
    const auto closing = expected_closing(record);
    EXPECT_EQ(closing->ran, 3);
    EXPECT_EQ(closing->counts,
              (decltype(closing->counts){{"passed", 1}, {"skipped", 1}, {"failed", 1}}));

    cases[0].state = State::timed_out;
    cases[2].state = State::crashed;
    EXPECT_EQ(expected_closing(finished("ctest", cases))->counts,
              (decltype(closing->counts){{"failed", 3}}));
}

// GoogleTest counts tests that a global set-up prevented as passed.
TEST(Accounting, GoogleTestCountsTestsThatItsEnvironmentPrevented) {
    CaseRecord skipped = test("t::A::a", State::skipped);
    skipped.started = false;
    skipped.phase = parsers::Phase::module_setup;
    CaseRecord row = test("t::<Environment>", State::errored);
    row.started = false;
    row.pseudo = true;
    row.phase = parsers::Phase::module_setup;
    const auto closing = expected_closing(finished("gtest", {skipped, row}));
    EXPECT_EQ(closing->ran, 1);
    EXPECT_EQ(closing->counts,
              (decltype(closing->counts){{"passed", 1}, {"skipped", 0}, {"failed", 0}}));
}

TEST(Accounting, CountsEachBrokenClassFixtureOnce) {
    std::vector<CaseRecord> cases;
    for (const char* id : {"m.py::A::a", "m.py::A::b", "m.py::B::a", "m.py::B::b"}) {
        CaseRecord c = test(id, State::errored);
        c.started = false;
        c.phase = parsers::Phase::class_setup;
        cases.push_back(c);
    }
    const auto closing = expected_closing(finished("unittest", cases));
    ASSERT_TRUE(closing);
    EXPECT_EQ(closing->text, "Ran 0, errors=2");
    // pytest reports the fixture at each test that needs it.
    const auto each = expected_closing(finished("pytest", cases));
    ASSERT_TRUE(each);
    EXPECT_EQ(each->text, "errors=4");
}

TEST(Accounting, SumsOverModules) {
    Totals totals;
    ModuleRecord a = finished("pytest", {test("a", State::passed), test("b", State::failed)});
    a.shim = parsers::ShimSession{.version = "1",
                                  .torch = "2",
                                  .host = "cpu",
                                  .mode = "missing",
                                  .simulated = "",
                                  .masquerade = false};
    a.device_events = {{.test = "a",
                        .kind = "redirect",
                        .op = "x",
                        .from = "cuda",
                        .to = "cpu",
                        .location = {},
                        .count = 1}};
    add(totals, a, 1);
    add(totals, finished("unittest", {test("c", State::skipped)}));
    Totals expected;
    expected.modules = 2;
    expected.collected = 3;
    expected.states[static_cast<size_t>(State::passed)] = 1;
    expected.states[static_cast<size_t>(State::failed)] = 1;
    expected.states[static_cast<size_t>(State::skipped)] = 1;
    expected.rows = expected.states;
    expected.flaky = 1;
    expected.redirected = 1;
    expected.untouched = 1;
    EXPECT_EQ(totals, expected);
}

}  // namespace
}  // namespace compat::analysis
