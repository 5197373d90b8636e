#include "parsers/import/unittest/reader.h"

#include <fmt/format.h>

#include <utility>

#include "parsers/closing.h"
#include "parsers/import/doubt.h"
#include "parsers/import/printed_end.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

using LineKind = UnittestEvent::Kind;

}  // namespace

UnittestReader::UnittestReader(const UnittestLog& log, See see)
    : log_(log), see_(std::move(see)), names_(log.module, log.fallback), run_(log.text, 0) {}

void UnittestReader::read() {
    for (LogLines lines(log_.text); lines.next();) {
        offset_ = lines.offset();
        after_ = lines.after();
        const UnittestEvent event = unittest_event_of(lines.line());
        if (!take_closing_lines(event)) take(event);
        before_ = event.kind;
    }
    offset_ = after_ = log_.text.size();
    begin_run(names_.fallback());
}

// What runs before it is over.
void UnittestReader::begin_run(std::string fallback) {
    if (held_) accept_held();
    end_run(std::nullopt, offset_);
    names_.set_fallback(std::move(fallback));
}

void UnittestReader::take(const UnittestEvent& event) {
    if (held_) settle_held(event);
    switch (event.kind) {
        case LineKind::announced:
            return begin_run(valid_utf8(fmt::format("{}.py", event.rest)));
        case LineKind::rule:
            if (before_ == LineKind::begins) return begin_run(names_.fallback());
            rule_ = offset_;
            if (std::exchange(title_lines_, 0) > 0) run_.set_body(after_);
            return;
        case LineKind::double_rule:
            title_ = offset_;
            return;
        case LineKind::title:
            if (before_ == LineKind::double_rule && !is_printed(event)) return take_title(event);
            break;
        case LineKind::captured:
            if (before_ == LineKind::blank) captured_ = run_.facts().cases.size();
            return;
        case LineKind::durations:
            run_.close_section(offset_);
            stage_ = Stage::durations;
            return;
        default:
            break;
    }
    if (title_lines_ > 0) --title_lines_;
    if (stage_ == Stage::results)
        take_result(event);
    else if (stage_ == Stage::sections)
        take_in_sections(event);
    else if (event.kind == LineKind::duration)
        run_.take_duration(event);
}

// "Ran 3 tests in 0.1s" under a rule, an empty line, and the verdict.
bool UnittestReader::take_closing_lines(const UnittestEvent& event) {
    const std::string ran = std::exchange(ran_, {});
    const bool after_blank = std::exchange(ran_blank_, false);
    if (event.kind == LineKind::ran && before_ == LineKind::rule) {
        ran_ = event.line;
        return true;
    }
    if (ran.empty()) return false;
    if (!after_blank) {
        if (event.kind != LineKind::blank) return false;
        ran_ = ran;
        ran_blank_ = true;
        return true;
    }
    auto closing = unittest_closing_of(ran, event.line);
    if (closing) take_closing(std::move(*closing));
    return closing.has_value();
}

void UnittestReader::take_closing(Closing closing) {
    if (held_ && held_->inner) accept_held();
    held_.reset();
    if (run_.fits(closing)) return end_run(std::move(closing), rule_);
    const auto inner = run_.inner(closing, false);
    if (!inner && captured_ && run_.inner(closing, true) == captured_) {
        run_.drop(*captured_);
        stage_ = Stage::results;
        return;
    }
    held_ = Held{std::move(closing), rule_, inner};
}

void UnittestReader::settle_held(const UnittestEvent& event) {
    const bool in_test = held_->inner || run_.is_open();
    switch (event.kind) {
        case LineKind::status:
            if (!in_test) return;
            run_.drop(held_->inner.value_or(run_.facts().cases.size()));
            stage_ = Stage::results;
            break;
        case LineKind::test:
        case LineKind::heading:
            if (stage_ == Stage::sections && captured_) return;
            return accept_held();
        case LineKind::title:
            if (before_ != LineKind::double_rule) return;
            if (held_->inner) return accept_held();
            break;
        case LineKind::characters:
            if (run_.is_verbose()) return;
            break;
        default:
            return;
    }
    held_.reset();
}

void UnittestReader::accept_held() {
    const Held held = std::move(*std::exchange(held_, std::nullopt));
    if (held.inner) {
        UnittestRun inner = run_.split(*held.inner);
        hand_on(std::move(run_), std::nullopt, inner.facts().begin);
        run_ = std::move(inner);
    }
    end_run(held.closing, held.begin);
}

// Verbose, a section is of a test that has a line.
bool UnittestReader::is_printed(const UnittestEvent& title) {
    if (!run_.is_verbose()) return false;
    if (!title.header) return true;
    const Phase phase = unittest_phase_of(*title.header);
    return phase == Phase::call && !run_.facts().cases.find(unittest_name_of(*title.header), phase);
}

void UnittestReader::take_title(const UnittestEvent& event) {
    stage_ = Stage::sections;
    run_.open_section(event, title_, after_);
    // A docstring's first line may stand between the title and its rule.
    title_lines_ = event.status->state == State::xpassed ? 0 : 2;
}

// Sections may be those that the test that is open printed, reporting on tests of its own.
void UnittestReader::take_in_sections(const UnittestEvent& event) {
    const bool of_results = event.kind == LineKind::status || event.kind == LineKind::test;
    if (!of_results || !run_.is_open()) return;
    run_.drop(run_.facts().cases.size());
    stage_ = Stage::results;
    take_result(event);
}

void UnittestReader::take_result(const UnittestEvent& event) {
    if (!documented_.empty() && take_documented(event)) return;
    switch (event.kind) {
        case LineKind::blank:
            return;
        case LineKind::test:
            return take_test(*event.header, event.rest);
        case LineKind::heading:
            documented_ = event.line.substr(event.line.find_first_not_of(' '));
            documented_at_ = offset_;
            return;
        case LineKind::subtest:
            return run_.take_subtest(event);
        case LineKind::status:
            return run_.take_status(*event.status, after_);
        case LineKind::characters:
            return run_.take_characters(event.line, offset_, after_);
        default:
            break;
    }
    // Between tests, a fixture may have printed in front of a name.
    const auto header = run_.is_open() ? std::nullopt : header_within(event.line);
    if (header && header->rest.starts_with(kEllipsis))
        take_test(*header, header->rest.substr(kEllipsis.size()));
    else
        run_.take_text(event.line);
}

// The first line of a docstring, which stands under the test's name.
bool UnittestReader::take_documented(const UnittestEvent& event) {
    const std::string name = std::exchange(documented_, {});
    size_t dots = event.line.rfind(kEllipsis);
    if (dots == std::string_view::npos || event.kind == LineKind::test) return false;
    if (!unittest_status_of(event.line.substr(dots + kEllipsis.size())))
        dots = event.line.find(kEllipsis);
    const size_t line = std::exchange(offset_, documented_at_);
    take_test(*header_of(name), event.line.substr(dots + kEllipsis.size()));
    offset_ = line;
    return true;
}

// What follows a test's name is its outcome, its own output, or, where it ended without a word (its
// sub-tests failed, up to Python 3.10), the next test's name.
void UnittestReader::take_test(const UnittestHeader& header, std::string_view rest) {
    UnittestEvent event;
    event.kind = LineKind::test;
    event.header = header;
    event.rest = rest;
    while (event.kind == LineKind::test) {
        rest = event.rest;
        run_.begin(*event.header, names_, offset_, after_ - std::min(after_, rest.size() + 1));
        event = unittest_event_of(rest);
    }
    if (event.kind == LineKind::status)
        run_.take_status(*event.status, after_);
    else if (!rest.empty())
        run_.take_text(rest);
}

void UnittestReader::end_run(std::optional<Closing> closing, size_t end) {
    UnittestRun run = std::exchange(run_, UnittestRun(log_.text, after_));
    stage_ = Stage::results;
    captured_.reset();
    title_lines_ = 0;
    const auto characters = run.facts().first_character;
    const std::string_view tail = log_.text.substr(0, end).substr(std::min(end, run.facts().tail));
    if (closing || !run.is_empty() || (characters && printed_end(tail)))
        hand_on(std::move(run), std::move(closing), end);
    else if (characters)
        doubts_.push_back(uncounted_characters(*characters));
}

void UnittestReader::hand_on(UnittestRun run, std::optional<Closing> closing, size_t end) {
    const size_t tail = std::min(end, run.facts().tail);
    see_(finish_unittest_run(std::move(run), std::move(closing), end, names_, room_),
         log_.text.substr(tail, end - tail));
}

}  // namespace compat::parsers
