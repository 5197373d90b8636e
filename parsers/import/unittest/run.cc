#include "parsers/import/unittest/run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "parsers/framework_summary.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// Moves what came with case `from` or later.
template <class T>
std::vector<T> cut_tail(std::vector<T>& all, size_t from) {
    const auto first =
        std::find_if(all.begin(), all.end(), [&](const T& one) { return one.cases > from; });
    std::vector<T> tail(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
    for (T& one : tail) one.cases -= from;
    return tail;
}

}  // namespace

std::optional<size_t> UnittestFacts::find(const UnittestHeader& header) {
    auto i = names.last(cases, unittest_name_of(header));
    while (i && cases[*i].phase != unittest_phase_of(header)) i = names.before(*i);
    return i;
}

void UnittestRun::take_test(const UnittestHeader& header, UnittestNames& names, size_t after) {
    if (!facts_.cases.empty() && header.key == key_) {
        // Python 3.12 prints it once more for a second status, and after sub-tests.
        const UnittestFacts::Outcomes& outcomes = facts_.outcomes.back();
        const bool has_subs =
            !facts_.subs.empty() && facts_.subs.back().cases == facts_.cases.size();
        if (outcomes.broken || outcomes.good == State::skipped || has_subs) return;
    }
    facts_.verbose = true;
    key_ = header.key;
    dying_ = false;
    facts_.tail = after;
    facts_.cases.push_back(names.case_of(header));
    facts_.begun += facts_.cases.back().started;
    UnittestFacts::Outcomes& outcomes = facts_.outcomes.emplace_back();
    outcomes.ordinal = facts_.begun;
    outcomes.after = after;
}

void UnittestRun::take_status(const UnittestStatus& status, size_t after) {
    // The line of a test that another one printed: what follows is that one's own outcome. A
    // fixture says no more than that it broke or skips.
    if (const size_t last = facts_.outcomes.size();
        last > 1 && !facts_.outcomes[last - 1].is_open() && facts_.outcomes[last - 2].is_open() &&
        !facts_.outcomes[last - 2].glued && status.state != State::errored &&
        status.state != State::skipped)
        (void)cut(last - 1);
    facts_.tail = after;
    if (!is_open() && (status.state == State::skipped || facts_.outcomes.empty())) {
        // A class or module fixture that skips all under it is not named, up to Python 3.10.
        if (status.state != State::skipped) return;
        facts_.verbose = true;
        facts_.skips.push_back({status.reason, facts_.cases.size()});
        return;
    }
    UnittestFacts::Outcomes& outcomes = facts_.outcomes.back();
    facts_.cases.back().duration_s += status.duration_s;
    if (is_failure(status.state)) {
        if (!outcomes.broken) outcomes.broken = status.state;
        return;
    }
    outcomes.good = status.state;
    facts_.cases.back().reason = status.reason;
}

void UnittestRun::take_subtest(const UnittestEvent& event) {
    if (facts_.cases.empty() || event.header->key != key_) return take_text(event.line);
    facts_.outcomes.back().told_of = true;
    facts_.subs.push_back({{valid_utf8(event.rest), event.status.state, event.status.reason, {}},
                           facts_.cases.size()});
}

void UnittestRun::take_text(std::string_view line) {
    facts_.printed = facts_.printed || !facts_.verbose;
    dying_ = dying_ || line.starts_with("Fatal Python error: ");
    if (!is_open()) return;
    // A dump's frames end with names of functions.
    const auto status = dying_ ? std::nullopt : unittest_status_at_end(line);
    facts_.outcomes.back().glued_is_last = status.has_value();
    if (!status) return;
    facts_.outcomes.back().glued = status->state;
    facts_.cases.back().duration_s = status->duration_s;
    facts_.cases.back().reason = status->reason;
}

void UnittestRun::take_characters(std::string_view characters, size_t offset, size_t after) {
    if (facts_.verbose) return take_text(characters);
    if (!facts_.first_character) facts_.first_character = offset;
    std::int64_t in_line = 0;
    for (const char c : characters)
        if (const auto state = unittest_state_of(c)) ++facts_.characters[*state], ++in_line;
    facts_.most_in_line = std::max(facts_.most_in_line, in_line);
    facts_.tail = after;
}

void UnittestRun::take_captured() {
    captured_ = true;
    if (!facts_.outcomes.empty() && facts_.sections.empty()) facts_.outcomes.back().reopened = true;
}

void UnittestRun::take_duration(const UnittestEvent& event) {
    if (const auto i = facts_.find(*event.header)) facts_.cases[*i].duration_s = event.seconds;
}

bool UnittestRun::open_section(const UnittestEvent& title, size_t offset, size_t body) {
    const auto found = title.header ? facts_.find(*title.header) : std::nullopt;
    const bool of_test = title.header && unittest_phase_of(*title.header) == Phase::call;
    if (facts_.verbose && (!title.header || (of_test && !found))) return false;
    close_section(offset);
    captured_ = false;
    facts_.sections.push_back({title.status.state, title.status.duration_s, std::string(title.rest),
                               offset, body, body, facts_.cases.size()});
    // Nothing stands under the title of an unexpected success.
    section_is_open_ = title.status.state != State::xpassed;
    if (found) facts_.outcomes[*found].told_of = true;
    if (title.header && !facts_.verbose && is_failure(title.status.state) &&
        !unittest_fixture_of(title.header->method))
        broken_.insert(unittest_name_of(*title.header));
    return true;
}

void UnittestRun::close_section(size_t end) {
    if (section_is_open_) facts_.sections.back().end = std::max(end, facts_.sections.back().body);
    section_is_open_ = false;
}

std::optional<UnittestRun> UnittestRun::take_inner(const FrameworkSummary& closing) {
    const auto outer = std::lower_bound(
        facts_.outcomes.begin(), facts_.outcomes.end(), facts_.begun - *closing.ran,
        [](const UnittestFacts::Outcomes& outcomes, std::int64_t ordinal) {
            return outcomes.ordinal < ordinal;
        });
    if (*closing.ran == 0 || *closing.ran >= facts_.begun || outer == facts_.outcomes.end() ||
        (!outer->is_open() && !outer->reopened))
        return std::nullopt;
    return cut(static_cast<size_t>(outer - facts_.outcomes.begin()) + 1);
}

bool UnittestRun::fits(const FrameworkSummary& closing) const {
    if (!facts_.verbose) return fits_characters(closing);
    if (!facts_.outcomes.empty() && facts_.outcomes.back().is_open() &&
        !facts_.outcomes.back().glued)
        return false;
    const std::int64_t more = facts_.begun - *closing.ran;
    if (more == 0) return true;
    // Python 3.12.1 does not count what decorators skip.
    if (more < 0 || more > count_in(closing, "skipped")) return false;
    return std::none_of(facts_.outcomes.begin(), facts_.outcomes.end(),
                        [](const UnittestFacts::Outcomes& outcomes) {
                            return outcomes.is_open() && !outcomes.glued;
                        });
}

// There are as many of each character as the closing counts; fewer, where tests printed between
// them, or none at all (-q).
bool UnittestRun::fits_characters(const FrameworkSummary& closing) const {
    std::int64_t passed = *closing.ran - static_cast<std::int64_t>(broken_.size());
    bool fewer = false;
    for (const CountedWord& known : counted_words(name_of(Framework::unittest))) {
        const std::int64_t count = count_in(closing, known.word);
        const std::int64_t seen = facts_.characters[known.state];
        if (seen > count) return false;
        fewer = fewer || seen < count;
        if (known.state == State::xfailed || known.state == State::xpassed) passed -= count;
    }
    // A fixture may skip, for tests that are not counted.
    const std::int64_t seen = facts_.characters[State::passed];
    if (seen > passed) return false;
    fewer = fewer || seen < passed - count_in(closing, "skipped");
    return !fewer || facts_.printed || !facts_.first_character;
}

bool UnittestRun::join(const OutcomeCounts& before, const FrameworkSummary& closing, bool exactly) {
    if (facts_.verbose) return false;
    const UnittestFacts own = facts_;
    for (size_t i = 0; i < before.size(); ++i) facts_.characters[i] += before[i];
    facts_.first_character = facts_.begin;
    facts_.printed = !exactly;
    const bool joined = fits_characters(closing);
    if (!joined) facts_ = own;
    return joined;
}

UnittestRun UnittestRun::cut(size_t from) {
    UnittestFacts::Outcomes& outer = facts_.outcomes[from - 1];
    UnittestRun inner(facts_.text, outer.after);
    inner.facts_.verbose = true;
    inner.facts_.begun = std::exchange(facts_.begun, outer.ordinal) - outer.ordinal;
    inner.facts_.tail = std::exchange(facts_.tail, outer.after);
    inner.facts_.sections = cut_tail(facts_.sections, from);
    inner.facts_.skips = cut_tail(facts_.skips, from);
    inner.facts_.subs = cut_tail(facts_.subs, from);
    inner.section_is_open_ =
        !inner.facts_.sections.empty() && std::exchange(section_is_open_, false);
    facts_.names.cut(facts_.cases, from);
    const auto at = static_cast<std::ptrdiff_t>(from);
    inner.facts_.cases.assign(std::make_move_iterator(facts_.cases.begin() + at),
                              std::make_move_iterator(facts_.cases.end()));
    inner.facts_.outcomes.assign(facts_.outcomes.begin() + at, facts_.outcomes.end());
    for (UnittestFacts::Outcomes& outcomes : inner.facts_.outcomes)
        outcomes.ordinal -= outer.ordinal;
    facts_.cases.resize(from);
    facts_.outcomes.resize(from);
    key_.clear();
    return inner;
}

}  // namespace compat::parsers
