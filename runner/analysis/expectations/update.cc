#include "runner/analysis/expectations/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "runner/analysis/expectations/pattern.h"

namespace compat::analysis {

using parsers::State;

namespace {

// An entry while it is changed.
struct EditedEntry {
    std::optional<size_t> origin;  // its place in the file; empty: new
    Expectation entry;
    bool removed = false;
    bool useless = false;  // all of this device that it matches passed
};

struct Draft {
    std::vector<EditedEntry> entries;  // the file's, then new ones
    std::vector<LeftForPeople> left;
};

// Whether no run of another device sees the entry.
bool is_of_this_device(const Expectation& entry, const Circumstances& run) {
    const auto device = conditions_of_device(run);
    return std::all_of(device.begin(), device.end(), [&](const auto& condition) {
        const auto at = entry.when.find(condition.first);
        return at != entry.when.end() && at->second == condition.second;
    });
}

// For one test on this device, beside an entry that also governs others.
Expectation entry_beside(const Expectation* other, std::string_view id, State state,
                         const Circumstances& run) {
    Expectation entry;
    entry.test = pattern_of(id);
    entry.expect = {std::string(name_of(state))};
    if (other && is_pattern_of(other->test, id)) entry.when = other->when;
    for (const auto& [name, values] : conditions_of_device(run)) entry.when[name] = values;
    return entry;
}

// The file's entries, without those that the run shows to match nothing.
Draft draft_of(const Expectations& before, const ExpectationTally& tally) {
    Draft draft;
    for (const Expectation& entry : before.entries())
        draft.entries.push_back({draft.entries.size(), entry});
    for (const EntryNote& note : tally.notes()) {
        EditedEntry& edited = draft.entries[note.entry];
        const Expectation& entry = edited.entry;
        const bool removable = is_of_this_device(entry, before.run()) && tally.covers(note.entry);
        if (note.kind == EntryNote::Kind::expired)
            draft.left.push_back(
                {entry.test,
                 fmt::format("expired on {}: renew `until` or remove it", entry.until)});
        else if (note.kind == EntryNote::Kind::stale)
            edited.useless = removable;
        else if (removable)
            edited.removed = true;
        else
            draft.left.push_back({entry.test, "matches no test of this run; may match elsewhere"});
    }
    return draft;
}

// Why no command should decide about a result; empty: it may.
std::string reason_to_leave(const UnexpectedResult& result, const Expectations& judging) {
    if (result.state == State::not_run) return "did not run";
    if (const auto* expired = judging.expired_for(result.id, result.state))
        return fmt::format("was expected by {} until {}", expired->test, expired->until);
    return {};
}

// Changes an entry for this device alone. False: the result needs an entry of its own.
bool edit(EditedEntry& edited, const UnexpectedResult& result, Fit fit) {
    const bool is_own = is_pattern_of(edited.entry.test, result.id);
    if (is_own && fit != Fit::unexpected_pass)
        edited.entry.expect = {std::string(name_of(result.state))};
    else if (is_own || edited.useless)
        edited.removed = true;
    return is_own || edited.useless;
}

// Changes entries so that results are as expected. False: no result asks for a change.
bool edit_entries(Draft& draft, const std::vector<UnexpectedResult>& results,
                  const Circumstances& run, bool first_round) {
    std::vector<Expectation> now;
    std::vector<size_t> places;  // in the draft
    for (size_t i = 0; i < draft.entries.size(); ++i)
        if (!draft.entries[i].removed) {
            now.push_back(draft.entries[i].entry);
            places.push_back(i);
        }
    const Expectations judging(std::move(now), run);
    bool changed = false;
    for (const UnexpectedResult& result : results) {
        const Judged judged = judging.judge_state(result.id, result.state, result.framework);
        if (judged.fit == Fit::as_expected) continue;
        if (std::string why = reason_to_leave(result, judging); !why.empty()) {
            if (first_round) draft.left.push_back({result.id, std::move(why)});
            continue;
        }
        changed = true;
        if (judged.entry && is_of_this_device(*judged.entry, run)) {
            const auto at = static_cast<size_t>(judged.entry - judging.entries().data());
            if (edit(draft.entries[places[at]], result, judged.fit)) continue;
        }
        draft.entries.push_back(
            {std::nullopt, entry_beside(judged.entry, result.id, result.state, run)});
    }
    return changed;
}

std::vector<ExpectationChange> changes_of(std::vector<EditedEntry> entries,
                                          const std::vector<Expectation>& before) {
    using Kind = ExpectationChange::Kind;
    std::vector<ExpectationChange> changes, added;
    for (EditedEntry& edited : entries) {
        if (!edited.origin && !edited.removed)
            added.push_back({Kind::add, 0, std::move(edited.entry)});
        if (!edited.origin) continue;
        const Expectation& old = before[*edited.origin];
        if (edited.removed)
            changes.push_back({Kind::remove, *edited.origin, old});
        else if (edited.entry.expect != old.expect)
            changes.push_back({Kind::set_states, *edited.origin, std::move(edited.entry)});
    }
    std::stable_sort(added.begin(), added.end(),
                     [](const auto& a, const auto& b) { return a.value.test < b.value.test; });
    std::move(added.begin(), added.end(), std::back_inserter(changes));
    return changes;
}

}  // namespace

UpdatePlanner::UpdatePlanner(const Expectations& expectations)
    : expectations_(&expectations), tally_(expectations) {}

void UpdatePlanner::add(const parsers::ModuleRecord& record) {
    tally_.add(record);
    for (const auto& test : record.cases) {
        const Judged judged = expectations_->judge(test, record.framework);
        if (judged.fit == Fit::as_expected) continue;
        if (!judged.entry || pattern_matches(judged.entry->test, test.id)) {
            results_.push_back({test.id, test.state, record.framework});
            continue;
        }
        for (const auto& sub : test.subcases)
            if (const std::string id = test.id + " " + sub.label;
                expectations_->governing(id) == judged.entry)
                results_.push_back({id, sub.state, record.framework});
    }
}

ExpectationUpdate UpdatePlanner::finish() const {
    Draft draft = draft_of(*expectations_, tally_);
    // Removing an entry may bring a broader one to the fore.
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round)
        if (!edit_entries(draft, results_, expectations_->run(), round == 0)) break;
    return {changes_of(std::move(draft.entries), expectations_->entries()), std::move(draft.left)};
}

}  // namespace compat::analysis
