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
    // Hands on each run; `tail`: the text behind the last thing that it said of its tests.
    using See = std::function<void(FinishedUnittestRun run, std::string_view tail)>;

    UnittestReader(std::string_view text, std::string_view module, std::string_view fallback,
                   See see)
        : text_(text), see_(std::move(see)), names_(module, fallback), run_(text, 0) {}

    // Reads the whole log. Returns the diagnostics for text between the runs.
    std::vector<Diagnostic> read();

  private:
    enum class Stage { results, sections, durations };
    // A run since a test that is open.
    struct Inner {
        UnittestRun run;
        FrameworkSummary closing;
        size_t end;
    };
    // Lines in front of the words of a death: a run of its own, or a test had printed the
    // words.
    struct Killed {
        UnittestRun run;
        size_t end;
    };

    void take(const UnittestEvent& event);
    [[nodiscard]] bool take_closing_lines(const UnittestEvent& event);
    void take_title(const UnittestEvent& event);
    void take_result(const UnittestEvent& event);
    [[nodiscard]] bool take_documented(const UnittestEvent& event);
    [[nodiscard]] bool take_death(std::string_view line);
    void join_killed(const FrameworkSummary& closing);
    void take_test(const UnittestHeader& header, std::string_view rest);
    void end_run(std::optional<FrameworkSummary> closing, size_t end);
    void hand_on(UnittestRun run, std::optional<FrameworkSummary> closing, size_t end);

    std::string_view text_;
    See see_;
    UnittestNames names_;
    Unnamed::Room room_;
    std::vector<Diagnostic> doubts_;

    UnittestRun run_;
    Stage stage_ = Stage::results;
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
    std::vector<Inner> inner_;
    std::vector<Killed> killed_;
    size_t searched_ = 0;  // up to where for words of a death
};

std::vector<Diagnostic> UnittestReader::read() {
    for (LogLines lines(text_); lines.next();) {
        offset_ = lines.offset();
        after_ = lines.after();
        const UnittestEvent event = unittest_event_of(lines.line());
        if (!take_closing_lines(event)) take(event);
        before_ = event.kind;
    }
    end_run(std::nullopt, text_.size());
    return std::move(doubts_);
}

void UnittestReader::take(const UnittestEvent& event) {
    switch (event.kind) {
        case LineKind::announced:
            end_run(std::nullopt, offset_);
            return names_.set_fallback(event.file);
        case LineKind::rule:
            if (before_ == LineKind::begins) return end_run(std::nullopt, offset_);
            rule_ = offset_;
            if (std::exchange(title_lines_, 0) > 0) run_.set_body(after_);
            return;
        case LineKind::double_rule:
            title_ = offset_;
            return;
        case LineKind::title:
            if (before_ == LineKind::double_rule) return take_title(event);
            break;
        case LineKind::captured:
            if (before_ == LineKind::blank) run_.take_captured();
            return;
        case LineKind::durations:
            run_.close_section(offset_);
            stage_ = Stage::durations;
            return;
        default:
            break;
    }
    if (title_lines_ > 0) --title_lines_;
    if (pending_ && event.kind == LineKind::characters && !run_.facts().verbose) pending_.reset();
    const bool is_test = event.kind == LineKind::test || event.kind == LineKind::heading;
    if (pending_ && is_test && !run_.is_captured()) end_run(std::nullopt, offset_);
    if (stage_ == Stage::results)
        take_result(event);
    else if (stage_ == Stage::durations && event.kind == LineKind::duration)
        run_.take_duration(event);
}

// "Ran 3 tests in 0.1s" under a rule, an empty line, and the verdict.
bool UnittestReader::take_closing_lines(const UnittestEvent& event) {
    if (event.kind == LineKind::ran && before_ == LineKind::rule) {
        ran_ = event.line;
        return true;
    }
    if (ran_.empty()) return false;
    if (event.kind == LineKind::blank) return true;
    auto closing = read_unittest_summary(std::exchange(ran_, {}), event.line);
    if (!closing) return false;
    join_killed(*closing);
    if (run_.fits(*closing)) {
        end_run(std::move(closing), rule_);
    } else if (auto inner = run_.take_inner(*closing)) {
        inner_.push_back({std::move(*inner), std::move(*closing), rule_});
        stage_ = Stage::results;
    } else if (!run_.is_open()) {
        pending_ = {std::move(*closing), rule_};
    }
    return true;
}

void UnittestReader::take_title(const UnittestEvent& event) {
    if (!run_.open_section(event, title_, after_)) return;
    stage_ = Stage::sections;
    pending_.reset();
    // A docstring's first line may stand between the title and its rule.
    title_lines_ = event.status.state == State::xpassed ? 0 : 2;
}

void UnittestReader::take_result(const UnittestEvent& event) {
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
            inner_.clear();
            return run_.take_status(event.status, after_);
        case LineKind::characters:
            return run_.take_characters(event.line, offset_, after_);
        default:
            break;
    }
    // Between tests, a fixture may have printed in front of a name.
    const auto header = run_.is_open() ? std::nullopt : header_within(event.line);
    if (header)
        take_test(*header, header->rest.substr(kEllipsis.size()));
    else if (!take_death(event.line))
        run_.take_text(event.line);
}

// For a run that is not verbose.
bool UnittestReader::take_death(std::string_view line) {
    const auto characters = run_.facts().verbose ? std::nullopt : characters_before_death(line);
    if (!characters) return false;
    if (*characters > 0)
        run_.take_characters(line.substr(0, *characters), offset_,
                             after_ - std::min(after_, line.size() - *characters + 1));
    if (!run_.facts().first_character) return false;
    killed_.push_back({std::exchange(run_, UnittestRun(text_, after_)), after_});
    return true;
}

// If its own characters are not all that the closing counts, a test had printed the words.
void UnittestReader::join_killed(const FrameworkSummary& closing) {
    if (killed_.empty()) return;
    OutcomeCounts before{};
    for (Killed& one : killed_)
        for (size_t i = 0; i < before.size(); ++i) before[i] += one.run.facts().characters[i];
    if (run_.join(before, closing, true) ||
        (!run_.fits(closing) && run_.join(before, closing, false)))
        killed_.clear();
}

// The first line of a docstring, which stands under the test's name.
bool UnittestReader::take_documented(const UnittestEvent& event) {
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
void UnittestReader::take_test(const UnittestHeader& header, std::string_view rest) {
    if (!run_.facts().verbose && run_.facts().sections.empty() &&
        (run_.facts().first_character || !killed_.empty()))
        end_run(std::nullopt, offset_);
    // The run broke off in the test before: the log says that its process died.
    if (run_.is_open()) {
        const UnittestFacts::Outcomes& open = run_.facts().outcomes.back();
        const size_t from = std::max(open.after, std::exchange(searched_, offset_));
        if (!open.glued && from < offset_ && printed_end(text_.substr(from, offset_ - from)))
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

void UnittestReader::end_run(std::optional<FrameworkSummary> closing, size_t end) {
    UnittestRun run = std::exchange(run_, UnittestRun(text_, after_));
    std::vector<Inner> inner = std::exchange(inner_, {});
    if (const auto pending = std::exchange(pending_, std::nullopt); pending && !closing)
        std::tie(closing, end) = *pending;
    stage_ = Stage::results;
    title_lines_ = 0;
    for (Killed& one : std::exchange(killed_, {}))
        hand_on(std::move(one.run), std::nullopt, one.end);
    const auto characters = run.facts().first_character;
    const size_t tail = std::min(end, run.facts().tail);
    const bool broke_off = !closing;
    const bool cut_off = characters && (is_cut_off(text_, run.facts().most_in_line, tail) ||
                                        printed_end(text_.substr(tail, end - tail)));
    if (closing || !run.is_empty() || cut_off)
        hand_on(std::move(run), std::move(closing), end);
    else if (characters)
        doubts_.push_back(uncounted_characters(*characters));
    // No outcome followed: these were no output of a test.
    for (Inner& one : inner)
        if (broke_off) hand_on(std::move(one.run), std::move(one.closing), one.end);
}

void UnittestReader::hand_on(UnittestRun run, std::optional<FrameworkSummary> closing, size_t end) {
    const size_t tail = std::min(end, run.facts().tail);
    see_(finish_unittest_run(std::move(run), std::move(closing), end, names_, room_),
         text_.substr(tail, end - tail));
}

ModuleRecord resolved(FinishedUnittestRun run, const ProcessEnd& end) {
    const bool finished = run.record.closing.has_value();
    // Up to Python 3.10 a test whose sub-tests fail ends without a word: of those that began
    // without one, the process died in the last.
    bool last = true;
    for (size_t i = run.progress.size(); !finished && i-- > 0;) {
        if (run.progress[i] != Progress::started || std::exchange(last, false)) continue;
        run.progress[i] = Progress::announced;
        run.record.cases[i].reason = kBrokenOff.detail;
    }
    const bool ready = finished || !run.record.cases.empty();
    resolve_unfinished(run.record, run.progress,
                       {.ready = ready, .finished = finished, .fixture = {}, .last_end = {}}, end);
    return std::move(run.record);
}

}  // namespace

ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                 std::string_view module) {
    std::vector<FinishedUnittestRun> runs;
    (void)UnittestReader(log, module, module, [&](FinishedUnittestRun run, std::string_view) {
        runs.push_back(std::move(run));
    }).read();
    FinishedUnittestRun own = own_part(std::move(runs), name_of(Framework::unittest));
    own.record.path = valid_utf8(module);
    return resolved(std::move(own), end);
}

std::vector<Diagnostic> read_unittest_text(const ResultFile& file, const SeePart& see) {
    bool any = false;
    auto doubts = UnittestReader(file.bytes, {}, file.name,
                                 [&](FinishedUnittestRun run, std::string_view tail) {
                                     any = true;
                                     const ProcessEnd end =
                                         run.record.closing
                                             ? kInOrder
                                             : printed_end(tail).value_or(kBrokenOff);
                                     see(resolved(std::move(run), end));
                                 })
                      .read();
    if (!any && doubts.empty()) return {{"log", 0, "it holds no run of unittest"}};
    return doubts;
}

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
