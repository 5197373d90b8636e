#include "runner/analysis/expectations/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "runner/analysis/expectations/pattern.h"

namespace compat::analysis {

using parsers::State;

namespace {

// An entry while it is changed.
struct EditedEntry {
    std::optional<size_t> origin;  // its place in the file; empty: new
    Expectation entry;
    bool removed = false;
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
    const Circumstances& run = expectations_->run();
    ExpectationUpdate update;
    std::vector<EditedEntry> entries;
    for (const Expectation& entry : expectations_->entries())
        entries.push_back({entries.size(), entry});

    std::set<size_t> useless;  // all of this device that they match passed
    for (const EntryNote& note : tally_.notes()) {
        const Expectation& entry = entries[note.entry].entry;
        const bool removable = is_of_this_device(entry, run) && tally_.covers(note.entry);
        if (note.kind == EntryNote::Kind::expired)
            update.left.push_back(
                {entry.test,
                 fmt::format("expired on {}: renew `until` or remove it", entry.until)});
        else if (note.kind == EntryNote::Kind::stale && removable)
            useless.insert(note.entry);
        else if (note.kind == EntryNote::Kind::unmatched && removable)
            entries[note.entry].removed = true;
        else if (note.kind == EntryNote::Kind::unmatched)
            update.left.push_back({entry.test, "matches no test of this run; may match elsewhere"});
    }

    // Removing an entry may bring a broader one to the fore.
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round) {
        std::vector<Expectation> now;
        std::vector<size_t> places;  // in `entries`
        for (size_t i = 0; i < entries.size(); ++i)
            if (!entries[i].removed) {
                now.push_back(entries[i].entry);
                places.push_back(i);
            }
        const Expectations judging(std::move(now), run);
        bool changed = false;
        for (const Result& result : results_) {
            const Judged judged = judging.judge_state(result.id, result.state, result.framework);
            if (judged.fit == Fit::as_expected) continue;
            if (result.state == State::not_run) {
                if (round == 0) update.left.push_back({result.id, "did not run"});
                continue;
            }
            if (const auto* expired = judging.expired_for(result.id, result.state)) {
                if (round == 0)
                    update.left.push_back({result.id, fmt::format("was expected by {} until {}",
                                                                  expired->test, expired->until)});
                continue;
            }
            changed = true;
            if (judged.entry && is_of_this_device(*judged.entry, run)) {
                const size_t place =
                    places[static_cast<size_t>(judged.entry - judging.entries().data())];
                EditedEntry& edited = entries[place];
                const bool is_own = is_pattern_of(edited.entry.test, result.id);
                if (is_own && judged.fit == Fit::unexpected_pass) {
                    edited.removed = true;
                    continue;
                }
                if (is_own) {
                    edited.entry.expect = {std::string(name_of(result.state))};
                    continue;
                }
                if (edited.origin && useless.contains(*edited.origin)) {
                    edited.removed = true;
                    continue;
                }
            }
            entries.push_back(
                {std::nullopt, entry_beside(judged.entry, result.id, result.state, run)});
        }
        if (!changed) break;
    }

    std::vector<Expectation> added;
    for (EditedEntry& edited : entries) {
        if (!edited.origin) {
            if (!edited.removed) added.push_back(std::move(edited.entry));
            continue;
        }
        const Expectation& before = expectations_->entries()[*edited.origin];
        if (edited.removed)
            update.changes.push_back({ExpectationChange::Kind::remove, *edited.origin, before});
        else if (edited.entry.expect != before.expect)
            update.changes.push_back(
                {ExpectationChange::Kind::set_states, *edited.origin, edited.entry});
    }
    std::stable_sort(added.begin(), added.end(),
                     [](const auto& a, const auto& b) { return a.test < b.test; });
    for (Expectation& entry : added)
        update.changes.push_back({ExpectationChange::Kind::add, 0, std::move(entry)});
    return update;
}

}  // namespace compat::analysis
