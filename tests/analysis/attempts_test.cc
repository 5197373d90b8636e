#include "runner/analysis/attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
