#include "parsers/import/pytest/session.h"

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/framework_summary.h"
#include "parsers/import/pattern.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

// The words with which a section's heading says where a test broke.
struct HeadingWord {
    std::string_view prefix;
    Phase phase;
};
constexpr std::array<HeadingWord, 4> kHeadings{{
    {"ERROR at setup of ", Phase::setup},
    {"ERROR at teardown of ", Phase::teardown},
    {"ERROR collecting ", Phase::load},
    {"[doctest] ", Phase::call},
}};

// Every blank of a sub-test's heading is tried.
constexpr size_t kLongestHeading = 2000;

}  // namespace

std::string section_heading_of(std::string_view tail) {
    const size_t parameters = std::min(tail.find('['), tail.size());
    std::string out;
    for (size_t i = 0; i < tail.size(); ++i) {
        const bool colons = i + 1 < parameters && tail[i] == ':' && tail[i + 1] == ':';
        out += colons ? '.' : tail[i];
        i += colons;
    }
    return out;
}

PytestHeadings::PytestHeadings(const std::vector<CaseRecord>& cases) {
    for (size_t i = 0; i < cases.size(); ++i) add(cases[i].name, i);
}

void PytestHeadings::add(std::string_view name, size_t test) {
    const size_t names = name.find("::");
    if (names != std::string_view::npos)
        by_heading_[section_heading_of(name.substr(names + 2))].cases.push_back(test);
}

std::optional<size_t> PytestHeadings::find(std::string_view name) const {
    const auto it = by_heading_.find(std::string(name));
    return it == by_heading_.end() ? std::nullopt : std::optional(it->second.cases.back());
}

PytestOwner PytestHeadings::owner_of(std::string_view heading,
                                     const std::vector<PytestOutcomes>& outcomes) {
    PytestOwner owner;
    for (const HeadingWord& known : kHeadings)
        if (heading.starts_with(known.prefix)) {
            owner.phase = known.phase;
            heading.remove_prefix(known.prefix.size());
            break;
        }
    owner.name = heading;
    const bool in_call = owner.phase == Phase::call;
    if (owner.phase == Phase::load) {
        owner.kind = PytestOwner::Kind::module;
    } else if (const auto it = by_heading_.find(owner.name); it != by_heading_.end()) {
        Headed& headed = it->second;
        size_t& next = in_call ? headed.next_failed : headed.next_errored;
        const auto broke_there = [&](size_t i) {
            return !outcomes[i].any() ||
                   (in_call ? outcomes[i].call == State::failed : outcomes[i].errored);
        };
        while (next < headed.cases.size() && !broke_there(headed.cases[next])) ++next;
        if (next == headed.cases.size()) return owner;
        owner.kind = PytestOwner::Kind::test;
        owner.test = headed.cases[next++];
    } else if (in_call && heading.size() <= kLongestHeading) {
        // A sub-test: its test's name, a blank, its label.
        for (size_t blank = heading.find(' '); blank < heading.size();
             blank = heading.find(' ', blank + 1)) {
            const auto test = find(heading.substr(0, blank));
            if (!test) continue;
            owner.kind = PytestOwner::Kind::subtest;
            owner.test = *test;
            owner.label = heading.substr(blank + 1);
            break;
        }
    }
    return owner;
}

std::optional<size_t> PytestFacts::find(std::string_view node) {
    return names.last(cases, valid_utf8(node));
}

size_t PytestFacts::place_of(std::string_view node) {
    if (!cases.empty() && cases.back().name == node) return cases.size() - 1;
    if (const auto known = find(node)) return *known;
    CaseRecord c;
    c.name = valid_utf8(node);
    c.id = module.empty() ? c.name : module + c.name.substr(c.name.find("::"));
    c.started = true;
    outcomes.emplace_back();
    cases.push_back(std::move(c));
    return cases.size() - 1;
}

void PytestSession::take_preamble(const PytestEvent& event) {
    static const Pattern part(R"( / (\d+) (\w+)(.*))");
    if (event.kind == PytestEvent::Kind::root) {
        facts_.root = valid_utf8(trimmed(event.rest));
    } else if (event.kind == PytestEvent::Kind::platform) {
        facts_.python = valid_utf8(event.name);
        facts_.version = valid_utf8(event.rest);
    } else {
        facts_.in_order = facts_.in_order && event.kind != PytestEvent::Kind::workers;
        facts_.selected = std::min(number_of(event.name).value_or(kGreatestCount), kGreatestCount);
    }
    if (event.kind != PytestEvent::Kind::collected) return;
    // "collected 5 items / 2 deselected / 1 skipped / 3 selected"
    for (auto found = part.match(event.rest); found; found = part.match((*found)[3])) {
        const std::int64_t value = std::min(number_of((*found)[1]).value_or(0), kGreatestCount);
        if ((*found)[2] == "deselected")
            facts_.selected = std::max<std::int64_t>(*facts_.selected - value, 0);
        if ((*found)[2] == "skipped") facts_.skipped_modules = value;
    }
}

// pytest counts an expected failure of the tear-down beside what the call came to.
void PytestSession::add_outcome(PytestOutcomes& outcomes, State state) {
    bool& mark = state == State::errored ? outcomes.errored : outcomes.excused;
    if (state != State::errored && !outcomes.call)
        outcomes.call = state;
    else if (mark || (state != State::errored && state != State::xfailed))
        return;
    else
        mark = true;
    ++facts_.counts[state];
}

void PytestSession::remove_outcomes(PytestOutcomes& outcomes) {
    if (outcomes.call) --facts_.counts[*outcomes.call];
    facts_.counts[State::errored] -= outcomes.errored;
    facts_.counts[State::xfailed] -= outcomes.excused;
    outcomes = {};
}

void PytestSession::take_node(const PytestEvent& event, size_t after) {
    // Workers announce what they begin, in any order, and others print on the same line.
    if (!facts_.in_order && !event.of_worker) return;
    facts_.verbose = true;
    facts_.tail = after - std::min(after, event.status ? 0 : event.rest.size() + 1);
    const bool goes_on = !facts_.cases.empty() && facts_.cases.back().name == event.name;
    if (facts_.in_order && !goes_on) {
        if (is_open()) open_ = facts_.cases.size() - 1;
        end_results();
    }
    const size_t i = facts_.place_of(event.name);
    PytestOutcomes& outcomes = facts_.outcomes[i];
    if (event.kind == PytestEvent::Kind::subtest) {
        facts_.broken_subtests += event.status.has_value();
    } else if (event.status) {
        add_outcome(outcomes, event.status->state);
        CaseRecord& c = facts_.cases[i];
        c.duration_s += event.status->duration_s;
        if (outcomes.call == event.status->state && c.reason.empty())
            c.reason = event.status->reason;
    } else if (event.unsure) {
        outcomes.unsure = take_late(pytest_status_within(event.rest, false));
    } else {
        take_output(event.rest);
    }
}

void PytestSession::take_outcome(const PytestStatus& status, size_t after) {
    if (!facts_.verbose || !facts_.in_order || facts_.cases.empty()) return;
    if (!is_open() && open_) {
        for (size_t i = *open_ + 1; i < facts_.outcomes.size(); ++i)
            remove_outcomes(facts_.outcomes[i]);
        facts_.names.cut(facts_.cases, *open_ + 1);
        facts_.cases.resize(*open_ + 1);
        facts_.outcomes.resize(*open_ + 1);
        open_.reset();
    }
    remove_outcomes(facts_.outcomes.back());
    add_outcome(facts_.outcomes.back(), status.state);
    facts_.cases.back().reason = status.reason;
    facts_.cases.back().duration_s = status.duration_s;
    facts_.tail = after;
}

// For the last test, if it has no outcome of its own.
std::optional<State> PytestSession::take_late(std::optional<PytestStatus> status) {
    if (!status) return std::nullopt;
    facts_.cases.back().reason = std::move(status->reason);
    return status->state;
}

void PytestSession::take_output(std::string_view output) {
    if (facts_.outcomes.empty() || facts_.outcomes.back().any()) return;
    PytestOutcomes& outcomes = facts_.outcomes.back();
    auto status = pytest_status_within(output, false);
    if (!status && !outcomes.glued) status = pytest_status_within(output, true);
    if (status) outcomes.glued = take_late(std::move(status));
}

void PytestSession::end_results() {
    if (!facts_.outcomes.empty() && !facts_.outcomes.back().any() && facts_.outcomes.back().glued)
        add_outcome(facts_.outcomes.back(), *facts_.outcomes.back().glued);
}

void PytestSession::take_characters(const PytestEvent& event, size_t offset, size_t after) {
    if (facts_.verbose) return take_output(event.line);
    const bool goes_on = event.name.empty() && !facts_.characters.empty();
    if (!goes_on && (facts_.characters.empty() || facts_.characters.back().file != event.name))
        facts_.characters.push_back({valid_utf8(event.name), {}});
    if (!facts_.first_character) facts_.first_character = offset;
    facts_.has_progress = facts_.has_progress || event.has_progress;
    facts_.all_ran = event.is_last;
    facts_.tail = after;
    std::int64_t in_line = 0;
    for (const char c : event.rest) {
        facts_.subtest_characters += c == 'u';
        facts_.skipped_subtests += c == '-';
        const auto state = pytest_state_of(c);
        if (!state) continue;
        if (*state == State::errored) facts_.before_errors.push_back(last_character_);
        last_character_ = *state;
        facts_.most_in_line = std::max(facts_.most_in_line, ++in_line);
        ++facts_.counts[*state];
        ++facts_.characters.back().counts[*state];
    }
}

bool PytestSession::open_section(std::string_view heading, size_t offset, size_t body) {
    PytestOwner owner;
    if (facts_.verbose) {
        if (!headings_) headings_.emplace(facts_.cases);
        owner = headings_->owner_of(heading, facts_.outcomes);
        if (owner.kind == PytestOwner::Kind::unknown) return false;
    }
    close_section(offset);
    facts_.sections.push_back({std::string(heading), std::move(owner), body, body});
    section_is_open_ = true;
    return true;
}

void PytestSession::close_section(size_t end) {
    if (section_is_open_) facts_.sections.back().end = std::max(end, facts_.sections.back().body);
    section_is_open_ = false;
}

void PytestSession::take_summary(std::string_view line) {
    if (auto summary = pytest_summary_of(line)) facts_.summaries.push_back(std::move(*summary));
}

// "worker 'gw1' crashed while running 'tests/test_a.py::test_x'" of pytest-xdist.
void PytestSession::take_crash(std::string_view line) {
    static const Pattern crash(".*' crashed while running '([^']*::[^']*)'.*");
    if (line.find("' crashed while ") == std::string_view::npos) return;
    if (const auto found = crash.match(line))
        facts_.crashes.push_back({valid_utf8((*found)[1]), valid_utf8(trimmed(line))});
}

bool PytestSession::has_summary_of_others() {
    return facts_.verbose && std::any_of(facts_.summaries.begin(), facts_.summaries.end(),
                                         [&](const PytestSummary& summary) {
                                             const std::string_view text = summary.text;
                                             return summary.state == State::failed &&
                                                    !summary.of_subtest &&
                                                    !facts_.find(text.substr(0, text.find(" - ")));
                                         });
}

bool PytestSession::is_empty() const {
    return !facts_.started && facts_.cases.empty() && facts_.sections.empty() &&
           facts_.summaries.empty() && facts_.internal_error.empty() && !facts_.conftest &&
           !facts_.has_progress;
}

bool PytestSession::is_open() const {
    return facts_.in_order && facts_.verbose && !facts_.outcomes.empty() &&
           !facts_.outcomes.back().any() && !facts_.outcomes.back().glued;
}

bool PytestSession::agrees(const FrameworkSummary& closing) const {
    OutcomeCounts seen = facts_.counts;
    seen[State::failed] += facts_.broken_subtests;
    if (!facts_.outcomes.empty() && !facts_.outcomes.back().any() && facts_.outcomes.back().glued)
        ++seen[*facts_.outcomes.back().glued];
    const bool subtests =
        facts_.broken_subtests + facts_.subtest_characters > 0 ||
        count_in(closing, "subtests passed") > 0 ||
        std::any_of(facts_.summaries.begin(), facts_.summaries.end(),
                    [](const PytestSummary& summary) { return summary.of_subtest; });
    const auto words = counted_words(name_of(Framework::pytest));
    return std::all_of(words.begin(), words.end(), [&](const CountedWord& known) {
        const std::int64_t counted = count_in(closing, known.word);
        const std::int64_t had = seen[known.state];
        // Modules that could not be collected, or skip as a whole, and some sub-tests are counted
        // and have no line.
        const bool more = known.state == State::errored || known.state == State::skipped ||
                          (known.state == State::failed && subtests);
        return counted == had || (more && counted > had);
    });
}

}  // namespace compat::parsers
