#include "parsers/import/pytest/session.h"

#include <algorithm>
#include <utility>

#include "parsers/closing.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kCrashed = "' crashed while running '";

std::string value_after(std::string_view line, std::string_view mark) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + mark.size());
    return valid_utf8(rest.substr(0, rest.find_first_of(", ")));
}

size_t number(State state) { return static_cast<size_t>(state); }

}  // namespace

size_t place_of_test(PytestFacts& facts, std::string_view node) {
    CaseRecord c;
    c.name = valid_utf8(node);
    if (const auto known = facts.cases.find(c.name)) return *known;
    c.id = facts.module.empty() ? c.name : facts.module + c.name.substr(c.name.find("::"));
    c.started = true;
    facts.said.emplace_back();
    return facts.cases.add(std::move(c));
}

void PytestSession::take_preamble(const PytestEvent& event) {
    if (event.kind == PytestEvent::Kind::root) {
        facts_.root = valid_utf8(trimmed(event.rest.substr(0, event.rest.find(", "))));
    } else if (event.kind == PytestEvent::Kind::platform) {
        facts_.python = value_after(event.line, " -- Python ");
        facts_.version = value_after(event.line, "pytest-");
    } else {
        take_collected(event);
    }
}

// "collected 5 items / 2 deselected / 1 skipped / 3 selected", and pytest-xdist's
// "2 workers [5 items]", "gw0 [5] / gw1 [5]".
void PytestSession::take_collected(const PytestEvent& event) {
    std::string_view rest = event.rest;
    if (rest.empty()) {
        facts_.in_order = false;
        rest = event.line.substr(event.line.find('[') + 1);
        facts_.selected = number_of(rest.substr(0, rest.find_first_of(" ]")));
        return;
    }
    facts_.selected = number_of(rest.substr(0, rest.find(' ')));
    if (!facts_.selected) return;
    for (size_t bar = rest.find(" / "); bar != std::string_view::npos; bar = rest.find(" / ")) {
        rest.remove_prefix(bar + 3);
        const std::string_view part = rest.substr(0, rest.find(" / "));
        const std::int64_t value = number_of(part.substr(0, part.find(' '))).value_or(0);
        if (part.ends_with(" deselected"))
            facts_.selected = std::max<std::int64_t>(*facts_.selected - value, 0);
        if (part.ends_with(" skipped")) facts_.skipped_modules = value;
    }
}

void PytestSession::count(const PytestSaid& said, std::int64_t by) {
    if (said.call) facts_.counts[number(*said.call)] += by;
    if (said.errored) facts_.counts[number(State::errored)] += by;
    if (said.excused) facts_.counts[number(State::xfailed)] += by;
}

void PytestSession::take_node(const PytestNode& node, size_t after) {
    // Workers announce what they begin, in any order, and others print on the same line.
    if (!facts_.in_order && !node.of_worker) return;
    facts_.verbose = true;
    facts_.tail = after - std::min(after, node.status ? 0 : node.output.size() + 1);
    const std::optional<size_t> open =
        is_open() ? std::optional(facts_.cases.size() - 1) : std::nullopt;
    const size_t before = facts_.cases.size();
    const bool goes_on = before > 0 && facts_.cases[before - 1].name == node.node;
    if (facts_.in_order && !goes_on) {
        if (open) open_ = open;
        end_results();
    }
    const size_t i = place_of_test(facts_, node.node);
    facts_.broken_subtests += node.of_subtest && node.status;
    if (node.of_subtest) return;
    PytestSaid& said = facts_.said[i];
    if (!node.status) {
        if (node.unsure)
            said.unsure = pytest_status_at_end(node.output);
        else
            take_output(node.output);
        return;
    }
    count(said, -1);
    said.add(node.status->state);
    count(said, 1);
    CaseRecord& c = facts_.cases[i];
    c.duration_s += node.status->duration_s;
    if (said.call == node.status->state && c.reason.empty()) c.reason = node.status->reason;
}

void PytestSession::take_outcome(PytestStatus status, size_t after) {
    if (!facts_.verbose || !facts_.in_order || facts_.cases.size() == 0) return;
    if (!is_open() && open_) {
        for (size_t i = *open_ + 1; i < facts_.said.size(); ++i) count(facts_.said[i], -1);
        (void)facts_.cases.cut(*open_ + 1);
        facts_.said.resize(*open_ + 1);
        open_.reset();
    }
    PytestSaid& said = facts_.said.back();
    count(said, -1);
    said = {};
    said.add(status.state);
    count(said, 1);
    CaseRecord& c = facts_.cases[facts_.cases.size() - 1];
    c.reason = std::move(status.reason);
    c.duration_s = status.duration_s;
    facts_.tail = after;
}

void PytestSession::take_output(std::string_view output) {
    if (facts_.said.empty() || facts_.said.back().any()) return;
    const std::string_view text = trimmed(output);
    if (text.empty()) return;
    PytestSaid& said = facts_.said.back();
    // A tear-down prints behind it.
    if (auto status = pytest_status_at_start(text))
        said.soft = std::move(status);
    else if (auto last = pytest_status_at_end(text))
        said.soft = std::move(last);
    else if (!said.soft)
        said.soft = pytest_status_within(text);
}

void PytestSession::end_results() {
    if (facts_.said.empty() || facts_.said.back().any() || !facts_.said.back().soft) return;
    PytestSaid& said = facts_.said.back();
    said.add(said.soft->state);
    count(said, 1);
    facts_.cases[facts_.cases.size() - 1].reason = std::move(said.soft->reason);
}

void PytestSession::take_characters(const PytestCharacters& found, size_t offset, size_t after) {
    if (facts_.verbose) return take_output(found.characters);
    const bool goes_on = found.file.empty() && !facts_.characters.empty();
    if (!goes_on && (facts_.characters.empty() || facts_.characters.back().file != found.file))
        facts_.characters.push_back({valid_utf8(found.file), {}});
    if (!facts_.first_character) facts_.first_character = offset;
    facts_.has_progress = facts_.has_progress || found.has_progress;
    facts_.all_ran = found.is_last;
    facts_.tail = after;
    for (const char c : found.characters) {
        facts_.subtest_characters += c == 'u';
        facts_.skipped_subtests += c == '-';
        const auto state = pytest_state_of(c);
        if (!state) continue;
        if (*state == State::errored) facts_.before_errors.push_back(last_character_);
        last_character_ = *state;
        ++facts_.counts[number(*state)];
        ++facts_.characters.back().counts[number(*state)];
    }
}

bool PytestSession::open_section(std::string_view heading, size_t offset, size_t body) {
    PytestOwner owner;
    if (facts_.verbose) {
        if (!headings_) headings_.emplace(facts_.cases);
        owner = headings_->owner_of(heading, facts_.said);
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
    if (const auto summary = pytest_summary_of(line))
        facts_.summaries.push_back({summary->state, summary->count, summary->of_subtest,
                                    std::string(summary->text), std::string(summary->label)});
}

// "worker 'gw1' crashed while running 'tests/test_a.py::test_x'" of pytest-xdist.
void PytestSession::take_crash(std::string_view line) {
    const size_t at = line.find(kCrashed);
    if (at == std::string_view::npos) return;
    const std::string_view node = line.substr(at + kCrashed.size());
    const size_t end = node.find('\'');
    if (end != std::string_view::npos && node.find("::") < end)
        facts_.crashes.push_back({valid_utf8(node.substr(0, end)), valid_utf8(trimmed(line))});
}

bool PytestSession::has_foreign_summary() {
    return facts_.verbose &&
           std::any_of(facts_.summaries.begin(), facts_.summaries.end(),
                       [&](const PytestFacts::Summary& summary) {
                           const std::string_view text = summary.text;
                           return summary.state == State::failed && !summary.of_subtest &&
                                  !facts_.cases.find(text.substr(0, text.find(" - ")));
                       });
}

bool PytestSession::is_empty() const {
    return !facts_.started && facts_.cases.size() == 0 && facts_.sections.empty() &&
           facts_.summaries.empty() && facts_.internal_error.empty() && !facts_.conftest &&
           !facts_.has_progress;
}

bool PytestSession::is_open() const {
    return facts_.in_order && facts_.verbose && !facts_.said.empty() && !facts_.said.back().any() &&
           !facts_.said.back().soft;
}

bool PytestSession::agrees(const Closing& closing) const {
    OutcomeCounts seen = facts_.counts;
    seen[number(State::failed)] += facts_.broken_subtests;
    if (!facts_.said.empty() && !facts_.said.back().any() && facts_.said.back().soft)
        ++seen[number(facts_.said.back().soft->state)];
    const bool subtests =
        facts_.broken_subtests + facts_.subtest_characters > 0 ||
        count_in(closing, "subtests passed") > 0 ||
        std::any_of(facts_.summaries.begin(), facts_.summaries.end(),
                    [](const PytestFacts::Summary& summary) { return summary.of_subtest; });
    const auto words = counted_words(name_of(Framework::pytest));
    return std::all_of(words.begin(), words.end(), [&](const CountedWord& known) {
        const std::int64_t counted = count_in(closing, known.word);
        const std::int64_t had = seen[number(known.state)];
        // Modules that could not be collected, or skip as a whole, and some sub-tests are counted
        // and have no line.
        const bool more = known.state == State::errored || known.state == State::skipped ||
                          (known.state == State::failed && subtests);
        return counted == had || (more && counted > had);
    });
}

}  // namespace compat::parsers
