#include "runner/analysis/comparison.h"

#include <algorithm>

#include "runner/analysis/attempts.h"

namespace compat::analysis {

using parsers::State;

namespace {

constexpr std::uint8_t kAbsent = 0xff;
static_assert(parsers::kStateNames.size() < kAbsent);

// By the kind of the baseline's state, then by that of the other's; the last of each: absent.
using enum Change;
constexpr std::optional<Change> kChangeTable[4][4] = {
    {otherwise, lost, no_longer, missing},      // good
    {gained, otherwise, no_longer, missing},    // broken
    {runs_now, fails_now, otherwise, missing},  // idle
    {added, added, added, std::nullopt},        // absent
};

std::size_t row_in_table(std::optional<State> state) {
    return state ? static_cast<std::size_t>(kind_of(*state)) : std::size_t{3};
}

}  // namespace

StateKind kind_of(State state) {
    if (needs_attention(state)) return StateKind::broken;
    return state == State::skipped || state == State::not_run ? StateKind::idle : StateKind::good;
}

std::optional<Change> change_between(std::optional<State> baseline, std::optional<State> other) {
    if (baseline == other) return std::nullopt;
    return kChangeTable[row_in_table(baseline)][row_in_table(other)];
}

std::size_t Comparison::add_run() {
    runs_.emplace_back();
    return runs_.size() - 1;
}

Comparison::Added Comparison::add(std::size_t run, std::string_view id, State state,
                                  std::string_view module, bool pseudo) {
    auto at = index_.find(id);
    if (at == index_.end()) {
        const std::string& module_name = *modules_.emplace(module).first;
        const Test& test = tests_.emplace_back(Test{std::string(id), module_name, pseudo});
        at = index_.emplace(test.id, tests_.size() - 1).first;
    }
    Run& into = runs_[run];
    const std::size_t test = at->second;
    if (into.states.size() <= test) into.states.resize(test + 1, kAbsent);
    if (into.states[test] != kAbsent) {
        ++into.duplicates;
        return {test, true};
    }
    into.states[test] = static_cast<std::uint8_t>(state);
    return {test, false};
}

std::optional<std::size_t> Comparison::find(std::string_view id) const {
    const auto at = index_.find(id);
    return at == index_.end() ? std::nullopt : std::optional<std::size_t>(at->second);
}

std::optional<State> Comparison::state(std::size_t test, std::size_t run) const {
    const auto& states = runs_[run].states;
    if (test >= states.size() || states[test] == kAbsent) return std::nullopt;
    return static_cast<State>(states[test]);
}

std::vector<std::size_t> Comparison::tests_that_differ() const {
    std::vector<std::size_t> found;
    for (std::size_t test = 0; test < tests(); ++test)
        for (std::size_t run = 1; run < runs(); ++run)
            if (state(test, run) != state(test, 0)) {
                found.push_back(test);
                break;
            }
    return found;
}

void Comparison::count(std::size_t test, std::size_t run, std::size_t baseline,
                       RunCounts& counts) const {
    const auto before = state(test, baseline), after = state(test, run);
    counts.baseline_tests += before.has_value();
    counts.tests += after.has_value();
    counts.unchanged += before && before == after;
    if (const auto change = change_between(before, after))
        ++counts.changes[static_cast<std::size_t>(*change)];
}

}  // namespace compat::analysis
