// Tests which entries `expect update` changes, and which it leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runner/analysis/expectations/update.h"

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::ModuleRecord;
using parsers::State;
using ChangeKind = ExpectationChange::Kind;
using When = decltype(Expectation::when);

const When kHere{{"device", {"mps"}}, {"simulated", {"mps"}}};

Circumstances run_on(const std::string& device) {
    return {{{"device", device}, {"simulated", device}, {"torch", "2.13.0"}}, "2026-11-25"};
}

Expectation expecting(std::string test, std::string state, When when = {}, std::string until = {}) {
    Expectation e;
    e.test = std::move(test);
    e.expect = {std::move(state)};
    e.when = std::move(when);
    e.until = std::move(until);
    return e;
}

ModuleRecord results(std::vector<std::pair<std::string, State>> states) {
    ModuleRecord record;
    record.path = "a.py";
    record.framework = "unittest";
    for (auto& [id, state] : states) {
        CaseRecord& test = record.cases.emplace_back();
        test.id = std::move(id);
        test.state = state;
    }
    return record;
}

ExpectationUpdate update_of(const std::vector<Expectation>& entries, const ModuleRecord& record,
                            const std::string& device = "mps") {
    const Expectations all(entries, run_on(device));
    UpdatePlanner planner(all);
    planner.add(record);
    return planner.finish();
}

std::vector<Expectation> applied(std::vector<Expectation> entries,
                                 const ExpectationUpdate& update) {
    std::vector<size_t> removed;
    for (const auto& change : update.changes) {
        if (change.kind == ChangeKind::add) entries.push_back(change.value);
        if (change.kind == ChangeKind::set_states)
            entries[change.entry].expect = change.value.expect;
        if (change.kind == ChangeKind::remove) removed.push_back(change.entry);
    }
    std::sort(removed.rbegin(), removed.rend());
    for (const size_t at : removed) entries.erase(entries.begin() + static_cast<long>(at));
    return entries;
}

struct UpdateCase {
    const char* name;
    std::vector<Expectation> before;
    std::vector<std::pair<std::string, State>> states;
    std::vector<Expectation> after;
};

std::vector<UpdateCase> update_cases() {
    const When cuda{{"device", {"cuda"}}, {"simulated", {"cuda"}}};
    return {
        {"a new failure gets an entry for this device",
         {},
         {{"a.py::b", State::failed}, {"a.py::a", State::crashed}},
         {expecting("a.py::a", "crashed", kHere), expecting("a.py::b", "failed", kHere)}},
        {"an entry for this device takes the new state",
         {expecting("a.py::a", "failed", kHere)},
         {{"a.py::a", State::errored}},
         {expecting("a.py::a", "errored", kHere)}},
        {"a fixed test loses its entry",
         {expecting("a.py::a", "failed", kHere)},
         {{"a.py::a", State::passed}},
         {}},
        {"an id with wildcards is escaped",
         {},
         {{"a.py::t[*]", State::failed}, {"a.py::t[x]", State::passed}},
         {expecting("a.py::t[\\*]", "failed", kHere)}},
        {"an entry with an escaped wildcard is one for its test",
         {expecting("a.py::t[\\*]", "failed", kHere)},
         {{"a.py::t[*]", State::errored}, {"a.py::t[x]", State::passed}},
         {expecting("a.py::t[\\*]", "errored", kHere)}},
        {"an entry for every device stays",
         {expecting("a.py::a", "failed")},
         {{"a.py::a", State::passed}},
         {expecting("a.py::a", "failed"), expecting("a.py::a", "passed", kHere)}},
        {"an entry of another device stays",
         {expecting("a.py::a", "failed", cuda)},
         {{"a.py::a", State::failed}},
         {expecting("a.py::a", "failed", cuda), expecting("a.py::a", "failed", kHere)}},
        {"a new entry keeps the conditions that it must outdo",
         {expecting("a.py::a", "failed", {{"torch", {">=2.13"}}})},
         {{"a.py::a", State::errored}},
         {expecting("a.py::a", "failed", {{"torch", {">=2.13"}}}),
          expecting("a.py::a", "errored",
                    {{"torch", {">=2.13"}}, {"device", {"mps"}}, {"simulated", {"mps"}}})}},
        {"a pattern stays if one of its tests still fails",
         {expecting("a.py::*", "failed", kHere)},
         {{"a.py::a", State::passed}, {"a.py::b", State::failed}},
         {expecting("a.py::*", "failed", kHere), expecting("a.py::a", "passed", kHere)}},
        {"a pattern for this device goes once all pass",
         {expecting("a.py::*", "failed", kHere)},
         {{"a.py::a", State::passed}, {"a.py::b", State::passed}},
         {}},
        {"what comes to the fore then is dealt with, too",
         {expecting("a.py::*", "failed"), expecting("a.py::a", "crashed", kHere)},
         {{"a.py::a", State::passed}, {"a.py::b", State::failed}},
         {expecting("a.py::*", "failed"), expecting("a.py::a", "passed", kHere)}},
        {"an entry for this device that matches nothing goes",
         {expecting("a.py::gone", "failed", kHere), expecting("a.py::gone", "failed")},
         {{"a.py::a", State::passed}},
         {expecting("a.py::gone", "failed")}},
        {"nothing to do",
         {expecting("a.py::a", "failed", kHere)},
         {{"a.py::a", State::failed}, {"a.py::b", State::passed}, {"a.py::s", State::skipped}},
         {expecting("a.py::a", "failed", kHere)}},
    };
}

TEST(Update, ChangesAsLittleAsPossible) {
    for (const UpdateCase& c : update_cases()) {
        const auto record = results(c.states);
        const auto after = applied(c.before, update_of(c.before, record));
        EXPECT_EQ(after, c.after) << c.name;
        const Expectations now(after, run_on("mps"));
        for (const auto& test : record.cases)
            EXPECT_EQ(now.judge(test, "unittest").fit, Fit::as_expected)
                << c.name << ": " << test.id;
        EXPECT_TRUE(update_of(after, record).changes.empty()) << c.name << ": not idempotent";
    }
}

TEST(Update, NeverChangesWhatAnotherDeviceSees) {
    for (const UpdateCase& c : update_cases()) {
        const auto after = applied(c.before, update_of(c.before, results(c.states)));
        const Expectations was(c.before, run_on("cuda")), is(after, run_on("cuda"));
        for (const char* id : {"a.py::a", "a.py::b", "a.py::gone", "a.py::s"})
            for (const State state : {State::passed, State::failed, State::errored, State::crashed})
                EXPECT_EQ(was.judge_state(id, state, "unittest").fit,
                          is.judge_state(id, state, "unittest").fit)
                    << c.name << ": " << id << " " << name_of(state);
    }
}

TEST(Update, LeavesToPeopleWhatExpiredAndWhatDidNotRun) {
    const std::vector<Expectation> entries{expecting("a.py::a", "failed", kHere, "2026-01-31")};
    const auto update =
        update_of(entries, results({{"a.py::a", State::failed}, {"a.py::n", State::not_run}}));
    EXPECT_TRUE(update.changes.empty());
    ASSERT_EQ(update.left.size(), 3u);
    EXPECT_EQ(update.left[0].test, "a.py::a");
    EXPECT_EQ(update.left[1].why, "was expected by a.py::a until 2026-01-31");
    EXPECT_EQ(update.left[2].why, "did not run");
}

TEST(Update, APatternThatThisRunDidNotCoverStays) {
    auto wide = expecting("*", "failed", kHere);
    wide.selected = false;
    const auto update = update_of({wide}, results({{"a.py::a", State::passed}}));
    ASSERT_EQ(update.changes.size(), 1u);
    EXPECT_EQ(update.changes[0].kind, ChangeKind::add);
    EXPECT_EQ(update.changes[0].value, expecting("a.py::a", "passed", kHere));
}

TEST(Update, ASubtestThatPassedLosesItsEntry) {
    ModuleRecord record = results({{"a.py::t", State::passed}});
    record.cases[0].subcases = {{"(i=1)", State::passed, {}, {}}};
    const auto update = update_of({expecting("a.py::t (i=1)", "failed", kHere)}, record);
    ASSERT_EQ(update.changes.size(), 1u);
    EXPECT_EQ(update.changes[0].kind, ChangeKind::remove);
}

}  // namespace
}  // namespace compat::analysis
