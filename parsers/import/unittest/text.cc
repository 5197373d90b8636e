#include "parsers/import/unittest/text.h"

#include <algorithm>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

#include "parsers/framework_summary.h"
#include "parsers/import/doubt.h"
#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/unittest/run.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using LineKind = UnittestEvent::Kind;

// The runs in a log, one after the other. Reads forward, once.
class UnittestReader {
  public:
    UnittestReader(const RunsText& log, const SeeRun& see)
        : log_(log), see_(see), names_(log.module, log.fallback), run_(log.text, 0) {}

    void read() {
        for (LogLines lines(log_.text); lines.next();) {
            offset_ = lines.offset();
            after_ = lines.after();
            const UnittestEvent event = unittest_event_of(lines.line());
            if (!take_closing_lines(event)) take(event);
            before_ = event.kind;
        }
        end_run(std::nullopt, log_.text.size());
    }

  private:
    void take(const UnittestEvent& event) {
        switch (event.kind) {
            case LineKind::announced:
                end_run(std::nullopt, offset_);
                follows_ = false;
                return names_.set_fallback(event.file);
            case LineKind::rule:
                rule_ = offset_;
                if (std::exchange(title_lines_, 0) > 0) run_.set_body(after_);
                return;
            case LineKind::double_rule:
                title_ = offset_;
                return;
            case LineKind::title:
                if (before_ == LineKind::double_rule) return take_title(event);
                break;
            default:
                break;
        }
        if (title_lines_ > 0) --title_lines_;
        const bool is_test = event.kind == LineKind::test || event.kind == LineKind::heading;
        if (pending_ && is_test) end_run(std::nullopt, offset_);
        if (!in_sections_) take_result(event);
    }

    // "Ran 3 tests in 0.1s" under a rule, an empty line, and the verdict.
    bool take_closing_lines(const UnittestEvent& event) {
        if (event.kind == LineKind::ran && before_ == LineKind::rule) {
            ran_ = event.line;
            return true;
        }
        if (ran_.empty()) return false;
        if (event.kind == LineKind::blank) return true;
        auto closing = read_unittest_summary(std::exchange(ran_, {}), event.line);
        if (!closing) return false;
        if (run_.fits(*closing))
            end_run(std::move(closing), rule_);
        else if (!run_.is_open())
            pending_ = {std::move(*closing), rule_};
        return true;
    }

    void take_title(const UnittestEvent& event) {
        if (!run_.open_section(event, title_, after_)) return;
        in_sections_ = true;
        pending_.reset();
        // A docstring's first line may stand between the title and its rule.
        title_lines_ = event.status.state == State::xpassed ? 0 : 2;
    }

    void take_result(const UnittestEvent& event) {
        if (!documented_.empty() && take_documented(event)) return;
        switch (event.kind) {
            case LineKind::blank:
                return;
            case LineKind::test:
                return take_test(*event.header, event.rest);
            case LineKind::heading:
                documented_ = event.line.substr(event.line.starts_with("  ") ? 2 : 0);
                return;
            case LineKind::subtest:
                return run_.take_subtest(event);
            case LineKind::status:
                return run_.take_status(event.status, after_);
            default:
                break;
        }
        if (run_.verbose || !says_death(event.line)) return run_.take_text(event.line);
        run_.died = true;
        end_run(std::nullopt, after_);
    }

    // The first line of a docstring, which stands under the test's name.
    bool take_documented(const UnittestEvent& event) {
        const std::string name = std::exchange(documented_, {});
        const auto header = header_of(name);
        size_t dots = event.line.rfind(kEllipsis);
        if (!header || dots == std::string_view::npos || event.kind == LineKind::test) return false;
        if (!unittest_status_of(event.line.substr(dots + kEllipsis.size())))
            dots = event.line.find(kEllipsis);
        take_test(*header, event.line.substr(dots + kEllipsis.size()));
        return true;
    }

    // After a test's name come its outcome, its output, or, where it ended without a word (its
    // sub-tests failed, up to Python 3.10), the next test's name.
    void take_test(const UnittestHeader& header, std::string_view rest) {
        // The run broke off in the test before: the log says that its process died.
        if (run_.is_open()) {
            const UnittestRun::Outcomes& open = run_.outcomes.back();
            const size_t from = std::max(open.after, std::exchange(searched_, offset_));
            if (!open.glued && from < offset_ &&
                printed_end(log_.text.substr(from, offset_ - from)))
                end_run(std::nullopt, offset_);
        }
        UnittestEvent event{.kind = LineKind::test, .line = rest, .header = header, .rest = rest};
        while (event.kind == LineKind::test) {
            rest = event.rest;
            run_.take_test(*event.header, names_, after_ - std::min(after_, rest.size() + 1));
            event = unittest_event_of(rest);
        }
        if (event.kind == LineKind::status)
            run_.take_status(event.status, after_);
        else if (!rest.empty())
            run_.take_text(rest);
    }

    void end_run(std::optional<FrameworkSummary> closing, size_t end) {
        UnittestRun run = std::exchange(run_, UnittestRun(log_.text, after_));
        if (const auto pending = std::exchange(pending_, std::nullopt); pending && !closing)
            std::tie(closing, end) = *pending;
        in_sections_ = false;
        title_lines_ = 0;
        if (!closing && run.is_empty()) return;
        const size_t tail = std::min(end, run.tail);
        const bool nameless = !run.verbose;
        FinishedRun finished = finish_unittest_run(std::move(run), std::move(closing), end, names_);
        if (nameless && follows_ && finished.record.closing && !finished.record.cases.empty() &&
            is_unnamed(finished.record.cases.back()))
            doubt_unittest(
                finished.record, end,
                "a run without names of tests follows another: a test may have run that, "
                "or printed it");
        follows_ = true;
        finished.end = finished.record.closing
                           ? kInOrder
                           : printed_end(log_.text.substr(tail, end - tail)).value_or(kBrokenOff);
        see_(std::move(finished));
    }

    const RunsText& log_;
    const SeeRun& see_;
    UnittestNames names_;

    UnittestRun run_;
    bool in_sections_ = false;
    LineKind before_ = LineKind::blank;  // the last line
    size_t offset_ = 0;                  // of the line
    size_t after_ = 0;
    size_t rule_ = 0;         // where the last rule begins
    size_t title_ = 0;        // where the last double rule begins
    int title_lines_ = 0;     // how many lines may yet stand between a title and its rule
    std::string ran_;         // "Ran 3 tests in 0.1s", until its verdict
    std::string documented_;  // a test's name, whose docstring follows
    // The last closing that is not of what was seen: if more of the run follows, it was printed.
    std::optional<std::pair<FrameworkSummary, size_t>> pending_;
    size_t searched_ = 0;   // up to where for words of a death
    bool follows_ = false;  // another run, in the same file of tests
};

}  // namespace

void each_unittest_run(const RunsText& log, const SeeRun& see) { UnittestReader(log, see).read(); }

int unittest_text_likeness(std::string_view beginning, std::string_view end) {
    int signs = 0;
    for (const std::string_view text : {beginning, end}) {
        LineKind before = LineKind::blank;
        for (LogLines lines(text); lines.next() && signs < 100;) {
            const LineKind kind = unittest_event_of(lines.line()).kind;
            if (kind == LineKind::ran && before == LineKind::rule) signs += 10;
            signs += kind == LineKind::double_rule || kind == LineKind::test;
            before = kind;
        }
    }
    return signs;
}

}  // namespace compat::parsers
