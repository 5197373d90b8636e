#include "parsers/import/pytest/session.h"

#include <algorithm>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/import/unnamed.h"
#include "parsers/pattern.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

constexpr std::int64_t kSubtests = 9;  // pytest has them since

// Its line does not say why the test runs again.
void keep_attempt(CaseRecord& c, std::optional<State> call) {
    auto earlier = std::exchange(c.earlier, {});
    c.state = call ? State::errored : State::failed;
    c.call_state = call;
    if (call) c.phase = Phase::teardown;
    earlier.push_back(std::exchange(c, {.id = c.id, .name = c.name, .started = true}));
    c.earlier = std::move(earlier);
}

}  // namespace

std::optional<size_t> PytestSession::find(std::string_view node) {
    return names.last(cases, valid_utf8(node));
}

size_t PytestSession::place_of(std::string_view node) {
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
        root = valid_utf8(trimmed(event.rest));
    } else if (event.kind == PytestEvent::Kind::platform) {
        python = valid_utf8(event.name);
        version = valid_utf8(event.rest);
    } else {
        in_order = in_order && event.kind != PytestEvent::Kind::workers;
        selected = std::min(number_of(event.name).value_or(kGreatestCount), kGreatestCount);
    }
    if (event.kind != PytestEvent::Kind::collected) return;
    // "collected 5 items / 2 deselected / 1 skipped / 3 selected"
    for (auto found = part.match(event.rest); found; found = part.match((*found)[3])) {
        const std::int64_t value = std::min(number_of((*found)[1]).value_or(0), kGreatestCount);
        if ((*found)[2] == "deselected") selected = std::max<std::int64_t>(*selected - value, 0);
        if ((*found)[2] == "skipped") skipped_modules = value;
    }
}

void PytestSession::take_status(size_t test, const PytestStatus& status) {
    CaseRecord& c = cases[test];
    PytestOutcomes& own = outcomes[test];
    c.duration_s += status.duration_s;
    if (status.state == State::not_run) {  // it runs again
        if (own.call) ++replaced[*own.call];
        for (const SubCase& sub : c.subcases) --subtests[sub.state];
        keep_attempt(c, std::exchange(own, {}).call);
    } else if (status.state == State::errored) {
        counts[State::errored] += !std::exchange(own.errored, true);
    } else if (!own.call || (own.call == State::passed && status.state == State::skipped)) {
        c.call_state = own.call;  // its tear-down skips
        own.call = status.state;
        c.reason = status.reason;
        ++counts[status.state];
    } else if (status.state == State::xpassed ||
               (status.state == State::xfailed && own.call == State::xpassed &&
                number_of(version.substr(0, version.find('.'))).value_or(kSubtests) >= kSubtests)) {
        ++replaced[*own.call];  // a sub-test's: the last is the test's own
        two_outcomes = two_outcomes || status.state == State::xfailed;
        own.call = status.state;
        ++counts[status.state];
    }
}

void PytestSession::take_node(const PytestEvent& event, size_t after) {
    // Workers announce what they begin, in any order, and others print on the same line.
    if ((!in_order && !event.of_worker) || (event.name.empty() && !is_open())) return;
    verbose = true;
    tail = after - std::min(after, event.status ? 0 : event.rest.size() + 1);
    const size_t i = event.name.empty() ? cases.size() - 1 : place_of(event.name);
    if (event.kind == PytestEvent::Kind::subtest) {
        const auto& [state, reason, duration_s] = *event.status;
        ++subtests[state];
        cases[i].subcases.push_back({valid_utf8(event.rest), state, reason, {}});
    } else if (event.status) {
        take_status(i, *event.status);
    }
}

void PytestSession::take_outcome(const PytestStatus& status, size_t after) {
    if (!verbose || !in_order || cases.empty()) return;
    tail = after;
    PytestOutcomes& own = outcomes.back();
    if (own.call) --counts[*own.call];
    counts[State::errored] -= own.errored;
    own = {};
    take_status(cases.size() - 1, status);
}

void PytestSession::open_section(std::string_view heading, size_t offset, size_t body) {
    close_section(offset);
    sections.push_back({std::string(heading), body, body});
    section_is_open_ = true;
}

void PytestSession::close_section(size_t end) {
    if (section_is_open_) sections.back().end = std::max(end, sections.back().body);
    section_is_open_ = false;
}

void PytestSession::take_summary(std::string_view line) {
    if (auto summary = pytest_summary_of(line)) summaries.push_back(std::move(*summary));
}

bool PytestSession::take_break(const PytestEvent& event, size_t offset) {
    if (event.kind == PytestEvent::Kind::stopped) stopped = valid_utf8(event.rest);
    if (event.kind != PytestEvent::Kind::internal) return event.kind == PytestEvent::Kind::stopped;
    const bool begins = event.line.ends_with(kTracebackHeader);
    if (internal_error.empty() && begins) internal_at = offset;
    if (!internal_error.empty() || begins) internal_error.append(event.rest).push_back('\n');
    return true;
}

bool PytestSession::is_empty() const {
    return !started && !died && cases.empty() && sections.empty() && summaries.empty() &&
           internal_error.empty() && !conftest && stopped.empty();
}

bool PytestSession::is_open() const {
    return in_order && verbose && !outcomes.empty() && !outcomes.back().any();
}

bool PytestSession::agrees(const FrameworkSummary& closing) const {
    OutcomeCounts seen = counts;
    seen[State::failed] += subtests[State::failed];
    if (!verbose)
        for (const PytestSession::Section& section : sections)
            ++seen[section.heading.starts_with("ERROR ") ? State::errored : State::failed];
    const bool has_subtests = subtests != OutcomeCounts{} ||
                              count_in(closing, "subtests passed") > 0 ||
                              std::ranges::any_of(summaries, &PytestSummary::of_subtest);
    const auto words = counted_words(name_of(Framework::pytest));
    return std::all_of(words.begin(), words.end(), [&](const CountedWord& known) {
        const std::int64_t counted = count_in(closing, known.word);
        const std::int64_t had = seen[known.state];
        // Modules that could not be collected, or skip as a whole, sub-tests, and tear-downs that
        // break as xfail expects are counted and may have no line.
        const bool exact = known.state == State::passed || known.state == State::xpassed ||
                           (known.state == State::failed && !has_subtests);
        return counted == had || (counted > had && !(verbose && exact));
    });
}

}  // namespace compat::parsers
