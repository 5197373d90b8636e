#include "runner/analysis/attempts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runner/analysis/marks.h"

namespace compat::analysis {
namespace {

using parsers::ModuleOutcome;
using parsers::ModuleRecord;
using parsers::State;
using enum parsers::State;

struct Row {
    std::string id;
    State state;
    bool pseudo = false;
};

ModuleRecord record(ModuleOutcome outcome, std::vector<Row> rows, std::string reason = {}) {
    ModuleRecord made;
    made.path = "m";
    made.framework = "unittest";
    made.outcome = outcome;
    made.reason = std::move(reason);
    for (auto& row : rows) {
        parsers::CaseRecord c;
        c.id = row.id;
        c.state = row.state;
        c.pseudo = row.pseudo;
        c.reason = row.state == crashed ? "SIGSEGV" : "";
        made.cases.push_back(std::move(c));
    }
    made.collected = static_cast<std::int64_t>(made.cases.size());
    return made;
}

class Attempts {
  public:
    Attempts& add(AttemptKind kind, ModuleRecord of, bool forked = false) {
        records_.push_back(std::move(of));
        records_.back().forked = forked;
        kinds_.push_back(kind);
        return *this;
    }
    [[nodiscard]] Verdicts merged() const {
        std::vector<Attempt> all;
        for (size_t i = 0; i < records_.size(); ++i)
            all.push_back({&records_[i], static_cast<int>(i + 1), kinds_[i]});
        return verdicts_of(all);
    }

  private:
    std::vector<ModuleRecord> records_;
    std::vector<AttemptKind> kinds_;
};

std::string states(const ModuleRecord& record) {
    std::string words;
    for (const auto& c : record.cases) words += c.id + "=" + std::string(name_of(c.state)) + " ";
    return words;
}

TEST(Verdicts, TheLastAttemptThatReachedATestDecides) {
    const auto merged =
        Attempts()
            .add(AttemptKind::whole,
                 record(ModuleOutcome::crashed,
                        {{"m::a", passed}, {"m::b", crashed}, {"m::c", not_run}}))
            .add(AttemptKind::rest, record(ModuleOutcome::completed, {{"m::c", failed}}))
            .add(AttemptKind::alone, record(ModuleOutcome::crashed, {{"m::b", crashed}}))
            .merged();
    EXPECT_EQ(states(merged.record), "m::a=passed m::b=crashed m::c=failed ");
    EXPECT_EQ(merged.record.collected, 3);
    EXPECT_EQ(merged.record.outcome, ModuleOutcome::crashed);
    EXPECT_EQ(merged.record.reason, "SIGSEGV in m::b");
    EXPECT_EQ(merged.tests[1].attempts.size(), 2u);
    EXPECT_FALSE(merged.tests[1].flaky);
}

TEST(Verdicts, ACrashThatIsNotRepeatedMakesATestFlaky) {
    const auto merged =
        Attempts()
            .add(AttemptKind::whole, record(ModuleOutcome::crashed, {{"m::a", crashed}}))
            .add(AttemptKind::alone, record(ModuleOutcome::completed, {{"m::a", passed}}))
            .merged();
    EXPECT_TRUE(merged.tests[0].flaky);
    EXPECT_EQ(merged.record.outcome, ModuleOutcome::completed);
}

TEST(Verdicts, AnAttemptThatDidNotReachATestDoesNotOverrule) {
    const auto merged =
        Attempts()
            .add(AttemptKind::whole, record(ModuleOutcome::crashed, {{"m::a", crashed}}))
            .add(AttemptKind::alone, record(ModuleOutcome::crashed, {{"m::a", not_run}}))
            .merged();
    EXPECT_EQ(states(merged.record), "m::a=crashed ");
    EXPECT_EQ(merged.tests[0].decisive.attempt, 0u);
}

TEST(Verdicts, AFailureOnlyInAForkIsForkSensitiveAndNotFlaky) {
    const auto merged =
        Attempts()
            .add(AttemptKind::whole,
                 record(ModuleOutcome::completed, {{"m::a", failed}, {"m::b", failed}}), true)
            .add(AttemptKind::again,
                 record(ModuleOutcome::completed, {{"m::a", passed}, {"m::b", failed}}))
            .merged();
    EXPECT_TRUE(merged.tests[0].fork_sensitive);
    EXPECT_FALSE(merged.tests[0].flaky);
    EXPECT_FALSE(merged.tests[1].fork_sensitive);
}

TEST(Verdicts, RowsOfFixturesEndWithTheNextWholeAttempt) {
    const Row fixture{"m::A::<tearDownClass>", crashed, true};
    const auto whole = [&](bool forked, AttemptKind second) {
        return Attempts()
            .add(AttemptKind::whole, record(ModuleOutcome::crashed, {{"m::A::x", passed}, fixture}),
                 forked)
            .add(second, record(ModuleOutcome::completed, {{"m::A::x", passed}}))
            .merged();
    };
    EXPECT_EQ(states(whole(true, AttemptKind::whole).record), "m::A::x=passed ");
    EXPECT_EQ(whole(true, AttemptKind::whole).record.outcome, ModuleOutcome::completed);
    const auto kept = whole(false, AttemptKind::rest);
    EXPECT_EQ(states(kept.record), "m::A::x=passed m::A::<tearDownClass>=crashed ");
    EXPECT_EQ(kept.record.outcome, ModuleOutcome::crashed);
}

TEST(Verdicts, AFixtureThatBreaksInAPartialRunAddsNoRow) {
    const Row fixture{"m::A::<tearDownClass>", errored, true};
    const auto merged = [&](std::vector<Row> before, AttemptKind kind, Row after) {
        before.insert(before.begin(), {"m::a", failed});
        return states(Attempts()
                          .add(AttemptKind::whole, record(ModuleOutcome::completed, before))
                          .add(kind, record(ModuleOutcome::completed, {{"m::a", failed}, after}))
                          .merged()
                          .record);
    };
    const Row broken{"m::A::<tearDownClass>", crashed, true};
    for (const AttemptKind kind : {AttemptKind::again, AttemptKind::alone}) {
        EXPECT_EQ(merged({}, kind, fixture), "m::a=failed ");
        EXPECT_EQ(merged({fixture}, kind, broken), "m::a=failed m::A::<tearDownClass>=crashed ");
        EXPECT_EQ(merged({}, kind, {"m::<module>", not_run, true}),
                  "m::a=failed m::<module>=not_run ");
    }
    for (const AttemptKind kind : {AttemptKind::rest, AttemptKind::whole})
        EXPECT_EQ(merged({}, kind, fixture), "m::a=failed m::A::<tearDownClass>=errored ");
}

TEST(Verdicts, ARowThatNothingRanCountsOnlyInTheLastAttempt) {
    const auto stopped = record(ModuleOutcome::interrupted, {{"m::<module>", not_run, true}});
    const auto crash = record(ModuleOutcome::crashed, {{"m::a", crashed}, {"m::b", not_run}});
    Attempts attempts;
    attempts.add(AttemptKind::whole, crash).add(AttemptKind::rest, stopped);
    EXPECT_EQ(states(attempts.merged().record), "m::a=crashed m::b=not_run m::<module>=not_run ");
    attempts.add(AttemptKind::rest, record(ModuleOutcome::completed, {{"m::b", passed}}));
    EXPECT_EQ(states(attempts.merged().record), "m::a=crashed m::b=passed ");
}

// The record of an attempt that was stopped before its module had imported torch: the shim waits.
ModuleRecord stopped_early() {
    ModuleRecord made = record(ModuleOutcome::interrupted, {{"m::<module>", not_run, true}});
    made.framework.clear();
    made.shim.emplace();
    return made;
}

ModuleRecord whole_record(const std::string& of, State state = passed) {
    ModuleRecord made = record(ModuleOutcome::completed, {{"m::a", state}, {"m::b", passed}});
    made.framework_version = of;
    made.python_version = "3.12.1";
    made.ready = made.finished = true;
    made.closing = {.text = "Ran 2", .ran = 2, .counts = {}};
    made.shim = {.version = of, .torch = "2.13.0", .host = "cpu", .mode = "none",
                 .simulated = "mps"};
    for (const char* const test : {"", "m::a", "m::b"}) {
        made.device_events.push_back({.test = test, .kind = "redirect", .op = of, .to = "mps"});
        made.kernels.push_back({test, "mps", 1});
        made.collectives.push_back({.test = test, .op = of});
        made.optimizer_steps.push_back({.test = test, .count = 1});
    }
    made.diagnostics.push_back({"log", 0, of});
    return made;
}

std::vector<AttemptKind> later_kinds() {
    return {AttemptKind::whole, AttemptKind::rest, AttemptKind::alone, AttemptKind::again};
}

TEST(Verdicts, AnAttemptThatWasStoppedEarlyTakesNothingFromTheOthers) {
    const ModuleRecord full = whole_record("1");
    const auto same = [&](const Verdicts& merged, std::string_view when) {
        const ModuleRecord& made = merged.record;
        EXPECT_EQ(made.framework, full.framework) << when;
        EXPECT_EQ(made.framework_version, full.framework_version) << when;
        EXPECT_EQ(made.python_version, full.python_version) << when;
        EXPECT_EQ(made.shim, full.shim) << when;
        EXPECT_THAT(states(made), testing::StartsWith(states(full))) << when;
        EXPECT_EQ(made.device_events, full.device_events) << when;
        EXPECT_EQ(made.kernels, full.kernels) << when;
        EXPECT_EQ(made.collectives, full.collectives) << when;
        EXPECT_EQ(made.optimizer_steps, full.optimizer_steps) << when;
        EXPECT_EQ(made.diagnostics, full.diagnostics) << when;
        EXPECT_EQ(made.outcome, full.outcome) << when;
        EXPECT_TRUE(made.ready) << when;
        for (size_t i = 0; i < full.cases.size(); ++i)
            EXPECT_TRUE(marks_of(made)[i].device) << when;
    };
    for (const AttemptKind kind : later_kinds())
        same(Attempts().add(AttemptKind::whole, stopped_early()).add(kind, full).merged(),
             name_of(kind));
    for (const AttemptKind kind : {AttemptKind::alone, AttemptKind::again})
        same(Attempts().add(AttemptKind::whole, full).add(kind, stopped_early()).merged(),
             fmt::format("then {}", name_of(kind)));
}

TEST(Verdicts, EachFieldIsMergedByItsRule) {
    for (const AttemptKind kind : later_kinds()) {
        SCOPED_TRACE(name_of(kind));
        ModuleRecord second = whole_record("2");
        second.cases.erase(second.cases.begin() + 1);  // it ran m::a alone
        const auto merged = Attempts()
                                .add(AttemptKind::whole, whole_record("1", failed))
                                .add(kind, second)
                                .merged();
        const ModuleRecord& made = merged.record;
        EXPECT_EQ(made.path, "m");
        EXPECT_EQ(made.framework, "unittest");
        EXPECT_EQ(made.framework_version, "1");
        EXPECT_EQ(made.shim->version, "1");
        EXPECT_EQ(states(made), "m::a=passed m::b=passed ");
        EXPECT_EQ(made.collected, 2);
        EXPECT_EQ(made.diagnostics.size(), 2u);
        // For a test, its deciding attempt's events; outside of tests, those of each attempt.
        std::string events;
        for (const auto& event : made.device_events) events += event.test + "=" + event.op + " ";
        EXPECT_EQ(events, "=1 m::b=1 =2 m::a=2 ");
        EXPECT_EQ(made.kernels.size(), 4u);
        EXPECT_EQ(made.collectives.size(), 4u);
        EXPECT_EQ(made.optimizer_steps.size(), 4u);
        // Facts of one process: no record of several has them.
        EXPECT_TRUE(made.ready);
        EXPECT_FALSE(made.finished || made.forked || made.from_text || made.closing);
    }
}

TEST(Verdicts, AnInterruptedRestDecidesTheOutcome) {
    const auto merged = Attempts()
                            .add(AttemptKind::whole, record(ModuleOutcome::crashed,
                                                            {{"m::a", crashed}, {"m::b", not_run}}))
                            .add(AttemptKind::rest,
                                 record(ModuleOutcome::interrupted, {{"m::b", not_run}}, "SIGINT"))
                            .merged();
    EXPECT_EQ(merged.record.outcome, ModuleOutcome::interrupted);
    EXPECT_EQ(merged.record.reason, "SIGINT");
}

}  // namespace
}  // namespace compat::analysis
