#include "parsers/import/pytest/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/import/doubt.h"
#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using PytestKind = PytestEvent::Kind;

// The parts after the results, in pytest's order. Others, of plugins, may stand between them.
enum Rank { kOther, kErrors, kFailures, kXfailures, kWarnings, kPasses, kXpasses, kSummary, kLast };
constexpr std::array<std::pair<std::string_view, Rank>, 8> kParts{{
    {"ERRORS", kErrors},
    {"FAILURES", kFailures},
    {"XFAILURES", kXfailures},
    {"warnings summary", kWarnings},
    {"PASSES", kPasses},
    {"XPASSES", kXpasses},
    {"short test summary info", kSummary},
    {"warnings summary (final)", kLast},
}};

int rank_of(std::string_view heading) {
    for (const auto& [name, rank] : kParts)
        if (heading == name) return rank;
    return kOther;
}

// Sessions within one another's tests, and in a row within one test: more are a log of sessions
// that broke off.
constexpr size_t kDeepest = 4;
constexpr size_t kMostInTest = 16;

}  // namespace

PytestReader::PytestReader(const PytestLog& log, See see)
    : log_(log), see_(std::move(see)), fallback_(valid_utf8(log.fallback)) {
    begin(0);
}

void PytestReader::read() {
    for (LogLines lines(log_.text); lines.next();) {
        offset_ = lines.offset();
        after_ = lines.after();
        take(pytest_event_of(lines.line()));
    }
    offset_ = after_ = log_.text.size();
    end_all();
}

void PytestReader::begin(size_t offset) {
    open_.push_back({.session = PytestSession(log_.text, offset, log_.module), .held = {}});
}

void PytestReader::take(const PytestEvent& event) {
    if (event.kind == PytestKind::announced) {
        end_all();
        fallback_ = valid_utf8(fmt::format("{}.py", event.rest));
        return;
    }
    if (event.kind == PytestKind::start) return take_start(event.line);
    drop_printed(event);
    if (event.kind == PytestKind::closing) return take_closing(event);
    if (open_.back().stage == Stage::results)
        take_result(event);
    else
        take_in_sections(event);
}

// What follows shows that a test had printed a closing line, or had run a session.
void PytestReader::drop_printed(const PytestEvent& event) {
    while (event.kind == PytestKind::outcome && open_.size() > 1 && !open_.back().session.is_open())
        open_.pop_back();
    Open& open = open_.back();
    const bool quiet = !open.session.facts().verbose;
    const PytestFacts& facts = open.session.facts();
    if (open.held && event.kind == PytestKind::closing && !facts.first_character &&
        facts.cases.size() == 0)
        return end_session(std::exchange(open.held, std::nullopt));
    const bool goes_on = event.kind == PytestKind::outcome || event.kind == PytestKind::node ||
                         (quiet && event.kind == PytestKind::characters) ||
                         (!open.session.is_open() &&
                          (event.kind == PytestKind::heading || event.kind == PytestKind::closing));
    if (goes_on && open.stage == Stage::results) closed_.clear();
    if (goes_on || event.kind == PytestKind::section || event.kind == PytestKind::stopped)
        open.held.reset();
}

void PytestReader::take_start(std::string_view line) {
    const size_t rule = line.find("= test session starts");
    const size_t before = line.find_last_not_of('=', rule);
    const std::string_view printed =
        line.substr(0, before == std::string_view::npos ? 0 : before + 1);
    if (!printed.empty()) take(pytest_event_of(printed));
    Open& open = open_.back();
    const size_t width = columns_of(line.substr(printed.size()));
    if (open.session.is_open() && open.width != 0 && width != open.width) return;
    const bool in_results = open.stage == Stage::results && open.session.facts().in_order &&
                            (open.session.is_open() || !open.session.facts().verbose);
    const bool ended = open.held && !(open.captured && open.session.has_foreign_summary());
    if (ended || (!in_results && !open.captured) || closed_.size() >= kMostInTest)
        end_all();
    else if (!in_results)
        return;
    else if (!open.session.is_empty() && open_.size() < kDeepest)
        begin(offset_);
    else
        end_all();
    Open& begun = open_.back();
    begun.session.facts().started = true;
    begun.session.facts().begin = offset_;
    begun.width = width;
}

void PytestReader::take_closing(const PytestEvent& event) {
    Open& open = open_.back();
    // A session without a first line is one of -q, whose closing has no frame.
    const bool framed = open.session.facts().started;
    const bool fits = framed == event.framed && (!framed || fills_terminal(event.line, open.width));
    if (!fits || (open.session.is_empty() && event.closing->counts.empty())) return;
    Held closing{*event.closing, offset_};
    if (open.session.is_open() || !open.session.agrees(closing.closing))
        open.held = std::move(closing);
    else
        end_session(std::move(closing));
}

void PytestReader::take_anywhere(const PytestEvent& event) {
    PytestFacts& facts = open_.back().session.facts();
    if (event.kind == PytestKind::stopped) {
        facts.stopped = valid_utf8(event.rest);
        facts.has_progress = true;
    } else if (event.kind == PytestKind::timeout) {
        facts.timed_out = true;
    } else if (event.kind == PytestKind::internal) {
        if (facts.internal_error.empty()) {
            if (!event.line.ends_with("Traceback (most recent call last):")) return;
            facts.internal_at = offset_;
        }
        facts.internal_error += event.rest.substr(event.rest.starts_with(' '));
        facts.internal_error += '\n';
    }
}

void PytestReader::take_result(const PytestEvent& event) {
    PytestSession& session = open_.back().session;
    switch (event.kind) {
        case PytestKind::platform:
        case PytestKind::root:
        case PytestKind::collected:
            if (!session.facts().selected) session.take_preamble(event);
            return;
        case PytestKind::node:
            return session.take_node(*event.node, after_);
        case PytestKind::outcome:
            return session.take_outcome(*event.status, after_);
        case PytestKind::characters:
            return session.take_characters(*event.characters, offset_, after_);
        case PytestKind::heading:
            return take_heading(event);
        case PytestKind::conftest:
            if (session.is_empty()) session.facts().conftest = offset_;
            return;
        case PytestKind::text:
            return take_text(event.line);
        default:
            if (!session.is_open() || event.kind == PytestKind::timeout) take_anywhere(event);
    }
}

// With the words of a death behind characters.
void PytestReader::take_text(std::string_view line) {
    const size_t end = end_of_result(line);
    if (end > 0 && end < line.size()) {
        const size_t after =
            std::exchange(after_, after_ - std::min(after_, line.size() - end + 1));
        take(pytest_event_of(line.substr(0, end)));
        after_ = after;
        if (open_.back().session.facts().first_character)
            open_.back().session.facts().has_progress = true;
        return take(pytest_event_of(line.substr(end)));
    }
    open_.back().session.take_output(line);
}

// pytest's own headings are as wide as its terminal, and in one order.
void PytestReader::take_heading(const PytestEvent& event) {
    Open& open = open_.back();
    if (open.session.is_open() || !fills_terminal(event.line, open.width)) return;
    const int rank = rank_of(event.rest);
    if (open.stage == Stage::results && rank == kOther) return;
    if (rank != kOther && (rank < open.rank || (rank == open.rank && rank != kSummary))) return;
    if (open.width == 0) open.width = columns_of(event.line);
    if (open.stage == Stage::results) open.session.end_results();
    open.session.close_section(offset_);
    if (rank == kOther) return;
    open.rank = rank;
    open.stage = rank == kSummary ? Stage::summary : Stage::sections;
    // The last one is the session's.
    if (rank == kSummary) open.session.facts().summaries.clear();
}

void PytestReader::take_in_sections(const PytestEvent& event) {
    Open& open = open_.back();
    switch (event.kind) {
        case PytestKind::heading:
            return take_heading(event);
        case PytestKind::section:
            if (!fills_terminal(event.line, open.width)) return;
            if ((open.rank == kErrors || open.rank == kFailures || open.rank == kSummary) &&
                open.session.open_section(event.rest, offset_, after_))
                open.stage = Stage::sections;
            return;
        case PytestKind::captured:
            open.captured = true;
            return;
        case PytestKind::stopped:
        case PytestKind::internal:
        case PytestKind::timeout:
            return take_anywhere(event);
        default:
            break;
    }
    if (open.stage == Stage::summary)
        open.session.take_summary(event.line);
    else
        open.session.take_crash(event.line);
}

FinishedPytestSession PytestReader::finish(Open open, std::optional<Held> closing) {
    const size_t end = closing ? closing->begin : offset_;
    const bool sure = closing && !open.session.is_open() && open.session.agrees(closing->closing);
    open.session.end_results();
    open.session.close_section(end);
    const size_t tail = std::min(end, open.session.facts().tail);
    const bool in_results = open.stage == Stage::results;
    const auto died =
        closing || !in_results ? std::nullopt : printed_end(log_.text.substr(tail, end - tail));
    return finish_pytest_session(
        std::move(open.session),
        {.closing = closing ? std::optional(std::move(closing->closing)) : std::nullopt,
         .end = end,
         .sure = sure,
         .died = died,
         .summarised = open.stage == Stage::summary,
         .fallback = fallback_},
        room_);
}

// The session that is innermost.
void PytestReader::end_session(std::optional<Held> closing) {
    FinishedPytestSession session = finish(std::move(open_.back()), std::move(closing));
    open_.pop_back();
    if (open_.empty()) {
        see_(std::move(session));
        begin(after_);
    } else {
        closed_.push_back(std::move(session));
    }
}

// No more follows: those that are open broke off, or end with the closing that is held.
void PytestReader::end_all() {
    for (Open& open : std::exchange(open_, {})) {
        const auto characters = open.session.facts().first_character;
        std::optional<Held> held = std::move(open.held);
        if (!open.session.is_empty() || held)
            see_(finish(std::move(open), std::move(held)));
        else if (characters)
            doubts_.push_back(uncounted_characters(*characters));
    }
    for (FinishedPytestSession& session : std::exchange(closed_, {})) see_(std::move(session));
    begin(offset_);
}

}  // namespace compat::parsers
