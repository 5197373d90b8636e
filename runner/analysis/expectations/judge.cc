#include "runner/analysis/expectations/judge.h"

#include <algorithm>
#include <tuple>

#include "runner/base/framework.h"

namespace compat::analysis {

using parsers::CaseRecord;
using parsers::ModuleOutcome;
using parsers::ModuleRecord;
using parsers::State;
using parsers::SubCase;

namespace {

bool names_state(const Expectation& entry, State state) {
    return std::find(entry.expect.begin(), entry.expect.end(), name_of(state)) !=
           entry.expect.end();
}

bool is_pass(State state) { return state == State::passed || state == State::xpassed; }

bool is_no_result(State state) { return state == State::skipped || state == State::xfailed; }

bool broke(State state) { return state == State::failed || state == State::errored; }

std::string subtest_id(const CaseRecord& test, const SubCase& sub) {
    return test.id + " " + sub.label;
}

// Whether the first governs, if both entries match one id.
bool governs_before(const std::vector<Expectation>& entries, size_t a, size_t b) {
    const auto rank = [&](size_t i) {
        return std::tuple(specificity_of(entries[i].test), entries[i].when.size(), i);
    };
    return rank(a) > rank(b);
}

// Whether all tests of the module are known.
bool knows_its_tests(const ModuleRecord& record) {
    using enum ModuleOutcome;
    if (record.outcome == completed || record.outcome == no_tests) return true;
    return (record.outcome == crashed || record.outcome == timed_out) &&
           std::any_of(record.cases.begin(), record.cases.end(),
                       [](const CaseRecord& test) { return !test.pseudo; });
}

}  // namespace

bool is_unexpected(State state, std::string_view framework) {
    switch (state) {
        case State::failed:
        case State::errored:
        case State::crashed:
        case State::timed_out:
        case State::not_run:
            return true;
        case State::xpassed:
            return traits_of(framework) && traits_of(framework)->fails_on_xpassed;
        case State::passed:
        case State::skipped:
        case State::xfailed:
            return false;
    }
    return true;
}

Expectations::Expectations(std::vector<Expectation> entries, Circumstances run)
    : entries_(std::move(entries)), run_(std::move(run)) {
    for (size_t i = 0; i < entries_.size(); ++i) {
        const bool holds = conditions_hold(entries_[i], run_);
        expired_.push_back(holds && is_expired(entries_[i], run_));
        applies_.push_back(holds && !expired_[i]);
        if (!applies_[i]) continue;
        if (!is_exact(entries_[i].test)) {
            patterns_.push_back(i);
            continue;
        }
        const auto [at, is_new] = exact_.emplace(id_of(entries_[i].test), i);
        if (!is_new && governs_before(entries_, i, at->second)) at->second = i;
    }
    std::sort(patterns_.begin(), patterns_.end(),
              [&](size_t a, size_t b) { return governs_before(entries_, a, b); });
}

const Expectation* Expectations::governing(std::string_view id) const {
    if (const auto at = exact_.find(std::string(id)); at != exact_.end())
        return &entries_[at->second];
    const auto at = std::find_if(patterns_.begin(), patterns_.end(), [&](size_t entry) {
        return pattern_matches(entries_[entry].test, id);
    });
    return at == patterns_.end() ? nullptr : &entries_[*at];
}

const Expectation* Expectations::expired_for(std::string_view id, State state) const {
    for (size_t i = 0; i < entries_.size(); ++i)
        if (expired_[i] && names_state(entries_[i], state) && pattern_matches(entries_[i].test, id))
            return &entries_[i];
    return nullptr;
}

Judged Expectations::judge_state(std::string_view id, State state,
                                 std::string_view framework) const {
    const Expectation* const entry = governing(id);
    if (!entry) {
        if (!is_unexpected(state, framework)) return {};
        return {is_pass(state) ? Fit::unexpected_pass : Fit::unexpected_failure, nullptr};
    }
    if (names_state(*entry, state) || is_no_result(state)) return {Fit::as_expected, entry};
    return {is_pass(state) ? Fit::unexpected_pass : Fit::unexpected_failure, entry};
}

Judged Expectations::judge_subtests(const CaseRecord& test, Judged own) const {
    const bool only_subtests_broke =
        broke(test.state) && !test.failure &&
        std::any_of(test.subcases.begin(), test.subcases.end(),
                    [](const SubCase& sub) { return broke(sub.state); });
    Judged of_passes = own;
    const Expectation* expected = nullptr;
    bool all_expected = true;
    for (const SubCase& sub : test.subcases) {
        const Expectation* const entry = governing(subtest_id(test, sub));
        const bool own_entry = entry && !pattern_matches(entry->test, test.id);
        if (own_entry && is_pass(sub.state) && !names_state(*entry, sub.state))
            of_passes = {Fit::unexpected_pass, entry};
        if (!broke(sub.state)) continue;
        if (entry && names_state(*entry, sub.state))
            expected = entry;
        else
            all_expected = false;
    }
    if (only_subtests_broke && all_expected && own.fit != Fit::as_expected)
        own = {Fit::as_expected, expected};
    return own.fit == Fit::as_expected && of_passes.fit == Fit::unexpected_pass ? of_passes : own;
}

Judged Expectations::judge(const CaseRecord& test, std::string_view framework) const {
    const Judged own = judge_state(test.id, test.state, framework);
    return entries_.empty() || test.subcases.empty() ? own : judge_subtests(test, own);
}

bool Expectations::explains_outcome(const ModuleRecord& module) const {
    using enum ModuleOutcome;
    if (module.outcome != crashed && module.outcome != timed_out && module.outcome != load_error)
        return false;
    const auto shows_outcome = [&](const CaseRecord& test) {
        if (module.outcome == load_error) return test.pseudo && test.state == State::errored;
        return test.state == (module.outcome == crashed ? State::crashed : State::timed_out);
    };
    bool shown = false;
    for (const CaseRecord& test : module.cases) {
        if (!shows_outcome(test)) continue;
        shown = true;
        if (judge(test, module.framework).fit != Fit::as_expected) return false;
    }
    return shown;
}

ExpectationTally::ExpectationTally(const Expectations& expectations)
    : expectations_(&expectations), uses_(expectations.entries().size()) {
    for (size_t i = 0; i < uses_.size(); ++i) {
        const std::string& test = expectations.entries()[i].test;
        for_modules_.emplace_back(test);
        if (expectations.applies(i)) {
            if (is_exact(test))
                unmatched_ids_.emplace(id_of(test), i);
            else
                unmatched_.push_back(i);
        }
    }
}

void ExpectationTally::match(const std::string& id) {
    const auto [first, last] = unmatched_ids_.equal_range(id);
    for (auto at = first; at != last; ++at) uses_[at->second].matched = true;
    unmatched_ids_.erase(first, last);
    std::erase_if(unmatched_, [&](size_t entry) {
        uses_[entry].matched = pattern_matches(expectations_->entries()[entry].test, id);
        return uses_[entry].matched;
    });
}

void ExpectationTally::add(const ModuleRecord& record) {
    if (!knows_its_tests(record))
        for (size_t i = 0; i < uses_.size(); ++i)
            uses_[i].unknown = uses_[i].unknown || for_modules_[i].could_match_in(record.path);
    const Expectation* const first = expectations_->entries().data();
    for (const CaseRecord& test : record.cases) {
        match(test.id);
        for (const SubCase& sub : test.subcases) match(subtest_id(test, sub));
        const Judged judged = expectations_->judge(test, record.framework);
        const auto state = static_cast<size_t>(test.state);
        if (judged.fit == Fit::unexpected_pass) ++passes_[state];
        if (judged.fit == Fit::unexpected_failure) ++failures_[state];
        if (!judged.entry) continue;
        if (judged.fit == Fit::as_expected && is_unexpected(test.state, record.framework))
            ++expected_[state];
        Use& use = uses_[static_cast<size_t>(judged.entry - first)];
        ++use.governed;
        use.passes += judged.fit == Fit::unexpected_pass;
        passes_with_entry_[state] += judged.fit == Fit::unexpected_pass;
    }
}

bool ExpectationTally::covers(size_t entry) const {
    return expectations_->entries()[entry].selected && !uses_[entry].unknown;
}

std::vector<EntryNote> ExpectationTally::notes() const {
    std::vector<EntryNote> notes;
    for (size_t i = 0; i < uses_.size(); ++i) {
        const Use& use = uses_[i];
        if (expectations_->expired(i))
            notes.push_back({EntryNote::Kind::expired, i});
        else if (!expectations_->applies(i))
            continue;
        else if (!use.matched && covers(i))
            notes.push_back({EntryNote::Kind::unmatched, i});
        else if (use.governed > 0 && use.passes == use.governed)
            notes.push_back({EntryNote::Kind::stale, i});
    }
    return notes;
}

}  // namespace compat::analysis
