#include "parsers/pytest_scanner.h"

#include <algorithm>

#include "parsers/closing.h"
#include "parsers/import/foreign.h"
#include "parsers/import/printed_end.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kInternalError = "INTERNALERROR>";
constexpr std::string_view kTraceback = "Traceback (most recent call last):";
// In front of why there is no session.
constexpr std::string_view kConftest = "ImportError while loading conftest '";

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

std::string value_after(std::string_view line, std::string_view mark) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + mark.size());
    return valid_utf8(rest.substr(0, rest.find_first_of(", ")));
}

// "--- Captured stdout call ---"
bool begins_captured_output(std::string_view line) {
    return pytest_ruled(line, '-').starts_with("Captured ");
}

}  // namespace

PytestScanner::PytestScanner(const PytestLog& log)
    : log_(log), fallback_(valid_utf8(log.fallback)), marks_(pytest_marks(log.text)) {
    for (std::uint32_t i = 0; log_.closing && i < marks_.size(); ++i)
        if (marks_[i].offset == *log_.closing) closing_of_log_ = i;
}

bool PytestScanner::has_content() const {
    return own_start_ != kNone || !record_->cases.empty() || !sections_.empty() ||
           !summaries_.empty() || !internal_error_.empty() || conftest_ ||
           (is_pytest_ && !characters_.empty());
}

bool PytestScanner::next(ModuleRecord& record) {
    begin_session(record);
    const std::string_view text = log_.closing ? log_.text.substr(0, *log_.closing) : log_.text;
    for (LogLines lines(text, next_); lines.next();) {
        offset_ = lines.offset();
        switch (meaning_of_mark(lines)) {
            case Meaning::line:
                take_line(lines.line(), lines.after());
                break;
            case Meaning::passed_over:
                break;
            case Meaning::begins_another:
                next_ = offset_;
                end_session(std::nullopt, offset_);
                return true;
            case Meaning::ends_it: {
                // Of -q: there are no lines of tests.
                if (marks_[mark_].kind == PytestMark::Kind::plain && !said_verbose_)
                    said_verbose_ = false;
                auto closing = closing_at(log_.text, marks_[mark_]);
                // Of no session: "no tests ran" of something else.
                if (!has_content() && characters_.empty() && closing.counts.empty()) break;
                next_ = lines.after();
                end_session(std::move(closing), offset_);
                return true;
            }
        }
        if (skip_to_ > lines.after()) lines = LogLines(text, skip_to_);
    }
    next_ = log_.text.size();
    const bool content = has_content() || one_module();
    end_session(std::nullopt, text.size());
    return content;
}

void PytestScanner::begin_session(ModuleRecord& record) {
    record_ = &record;
    diagnose_.emplace("log", record.diagnostics);
    stage_ = Stage::results;
    own_start_ = own_closing_ = kNone;
    own_summary_ = std::string_view::npos;
    results_go_on_.reset();
    skip_to_ = first_open_ = 0;
    width_ = 0;
    rank_ = 0;
    by_lines_.fill(0);
    around_.fill(0);
    runs_.fill(0);
    since_passed_over_.fill(0);
    excused_ = 0;
    passed_over_ = 0;
    conftest_.reset();
    said_verbose_.reset();
    is_pytest_ = has_progress_ = tests_print_ = false;
    bounds_known_ = timed_out_ = verbose_ = of_failures_ = false;
    root_.clear();
    stopped_.clear();
    internal_error_.clear();
    selected_.reset();
    skipped_modules_ = unnamed_ = 0;
    sections_.clear();
    summaries_.clear();
    errors_.clear();
    in_order_ = true;
    forget_characters();
    forget_cases();
    death_.reset();
    last_result_ = next_;
}

void PytestScanner::forget_cases() {
    record_->cases.clear();
    said_.clear();
    progress_.clear();
    repeats_.clear();
    by_id_.clear();
    by_node_.clear();
    by_heading_.clear();
    modules_.clear();
    current_.reset();
    after_output_.reset();
    before_output_.reset();
    pending_.clear();
    shorter_.clear();
    announced_.clear();
    lost_.clear();
    verbose_ = may_be_open_ = false;
}

void PytestScanner::forget_characters() {
    by_characters_.fill(0);
    characters_.clear();
    before_errors_.clear();
    last_character_ = State::errored;
    subtests_ = all_ran_ = false;
}

void PytestScanner::end_session(std::optional<Closing> closing, size_t end) {
    if (closing || log_.closing) settle_after_output();
    add_pending();
    choose_results(closing);
    if (closing && passed_over_ > 0 && !verbose_) doubt_closing(*closing, end);
    close_sections(end);
    add_summaries();
    add_sections(closing);
    name_types();
    if (!one_module() || !verbose_) add_summarised();
    if (!internal_error_.empty() || conftest_) add_internal_error(end);
    for (size_t i = 0; i < said_.size(); ++i) resolve(i);
    if (!one_module() && !closing && stage_ == Stage::results)
        death_ = printed_end(log_.text.substr(last_result_, end - last_result_));
    if (!one_module() && (closing || has_content())) {
        settle_teardowns();
        add_unnamed(closing);
    }
    const auto pseudo = std::count_if(record_->cases.begin(), record_->cases.end(),
                                      [](const CaseRecord& c) { return c.pseudo; });
    record_->collected =
        selected_ ? *selected_ + pseudo : static_cast<std::int64_t>(record_->cases.size());
    record_->closing = std::move(closing);
    if (!one_module() && !record_->cases.empty()) {
        const std::string_view path = module_of(record_->cases.front());
        if (std::all_of(record_->cases.begin(), record_->cases.end(),
                        [&](const CaseRecord& c) { return module_of(c) == path; }))
            record_->path = path;
    } else if (!one_module()) {
        record_->path = fallback_;
    }
    // With -qq nothing is its closing.
    finished_ = record_->closing || (own_start_ == kNone && !one_module() && !death_ &&
                                     internal_error_.empty() && (all_ran_ || !stopped_.empty()) &&
                                     (due_sections() == 0 || stage_ == Stage::summary));
    if (finished_ && !record_->closing)
        diagnose_->add(end, "no closing line counts what ran (-qq)");
    diagnose_.reset();
}

void PytestScanner::take_line(std::string_view line, size_t after) {
    if (stage_ == Stage::results) {
        if (line.starts_with('=')) take_rule(line, after);
        if (stage_ != Stage::results || skip_to_ > offset_) return;
        if (line.starts_with(kConftest) && !has_content()) conftest_ = internal_offset_ = offset_;
        size_t end = line.starts_with(kInternalError) ? 0 : end_of_result(line);
        // A reason or an id may hold the words of a death: of a test that died there is no outcome.
        if (const auto node = end < line.size() ? pytest_node_of(line) : std::nullopt;
            node && node->status)
            end = line.size();
        take_result(line.substr(0, end));
        take_end_of_process(line.substr(end));
        is_pytest_ = is_pytest_ || (end < line.size() && !characters_.empty());
        return;
    }
    if (line.empty()) return;
    if (line[0] == '=' || line[0] == '_' || line[0] == '-') take_rule(line, after);
    if (own_closing_ == kNone) take_end_of_process(line);
    if (stage_ != Stage::summary) return;
    if (const std::string_view stop = pytest_ruled(line, '!'); !stop.empty())
        stopped_ = valid_utf8(stop);
    else if (const auto summary = pytest_summary_of(line))
        summaries_.push_back({summary->state, summary->count, summary->of_subtest,
                              std::string(summary->text), std::string(summary->label)});
}

// pytest's own failure, and the time-out by which pytest-timeout ends the process.
void PytestScanner::take_end_of_process(std::string_view line) {
    if (line.starts_with('+') && pytest_ruled(line, '+') == "Timeout") timed_out_ = true;
    if (!line.starts_with(kInternalError)) return;
    if (internal_error_.empty()) {
        if (!line.ends_with(kTraceback)) return;
        internal_offset_ = offset_;
    }
    line.remove_prefix(kInternalError.size() + line.substr(kInternalError.size()).starts_with(' '));
    internal_error_.append(line).push_back('\n');
}

// pytest's own rules are as wide as its terminal; what tests print is seldom.
void PytestScanner::take_rule(std::string_view line, size_t after) {
    if (const std::string_view text = pytest_ruled(line, '='); !text.empty()) {
        if (width_ == 0 && rank_of(text) > 0) width_ = columns_of(line);
        if (fills_terminal(line, width_)) take_heading(text);
    } else if (stage_ == Stage::results || stage_ == Stage::summary ||
               !fills_terminal(line, width_)) {
        return;
    } else if (const std::string_view heading = pytest_ruled(line, '_'); !heading.empty()) {
        const bool after_output = stage_ == Stage::captured || rank_ > kFailures;
        stage_ = Stage::sections;
        if (of_failures_)
            sections_.push_back({std::string(heading), offset_, after, after, after_output});
    } else if (begins_captured_output(line)) {
        stage_ = Stage::captured;
    }
}

// pytest prints each part at most once, and in one order: what is not in it a test has printed.
void PytestScanner::take_heading(std::string_view text) {
    const int rank = rank_of(text);
    if (stage_ == Stage::results && !ends_results(rank)) return;
    if (rank > 0 && rank <= rank_) {
        // Among what a failed test had printed.
        if (own_closing_ != kNone)
            skip_to_ = std::min(end_of_quiet_session(), marks_[own_closing_].offset);
        return;
    }
    if (rank == kSummary && offset_ != own_summary_) return;
    settle_after_output();
    close_sections(offset_);
    if (rank == 0) return;
    rank_ = rank;
    // Of a later part behind captured output it does not show whether a test has printed it.
    const bool after_output =
        stage_ == Stage::captured || (!sections_.empty() && sections_.back().after_output);
    of_failures_ = rank <= kFailures || (of_failures_ && after_output);
    stage_ = rank == kSummary ? Stage::summary : Stage::sections;
}

// Whether a heading among the results is the first after them.
bool PytestScanner::ends_results(int rank) {
    if (rank == 0) return false;
    const std::uint32_t paired = own_start_ == kNone ? kNone : marks_[own_start_].pair;
    const std::uint32_t own = one_module() ? closing_of_log_ : paired;
    // Of a session of -q that a test ran, while tests of its own are to come.
    if (own != kNone && !agrees(own)) skip_to_ = end_of_quiet_session();
    if (skip_to_ > offset_) return false;
    stage_ = Stage::sections;
    find_own_closing();
    // A log of our own attempt may hold others.
    const bool is_own = rank == kSummary ? offset_ == own_summary_
                                         : rank == kErrors || rank == kFailures || !one_module();
    if (!is_own) {
        stage_ = Stage::results;
        bounds_known_ = false;
    }
    return is_own;
}

void PytestScanner::close_sections(size_t end) {
    for (; first_open_ < sections_.size(); ++first_open_)
        sections_[first_open_].end = std::max(end, sections_[first_open_].body);
}

// What pytest says before the first test: versions, root, how many tests.
bool PytestScanner::take_preamble(std::string_view line) {
    constexpr std::string_view kRoot = "rootdir: ";
    constexpr std::string_view kPython = " -- Python ";
    if (line.starts_with(kRoot)) {
        const std::string_view root = line.substr(kRoot.size());
        root_ = valid_utf8(trimmed(root.substr(0, root.find(", "))));
        return true;
    }
    if (line.starts_with("platform ") && line.find(kPython) != std::string_view::npos) {
        record_->python_version = value_after(line, kPython);
        record_->framework_version = value_after(line, "pytest-");
        const size_t plugins = line.find(", pluggy-");
        if (!one_module() && plugins != std::string_view::npos)
            said_verbose_ = line.find(" -- ", plugins) != std::string_view::npos;
        return true;
    }
    return take_collected(line);
}

// "collected 5 items / 2 deselected / 1 skipped / 3 selected", and pytest-xdist's
// "2 workers [5 items]", "gw0 [5] / gw1 [5]".
bool PytestScanner::take_collected(std::string_view line) {
    if (const size_t open = line.find('[');
        !one_module() && open != std::string_view::npos &&
        (line.starts_with("gw0 [") || line.find(" workers [") != std::string_view::npos ||
         line.find(" worker [") != std::string_view::npos)) {
        in_order_ = false;
        const std::string_view inside = line.substr(open + 1);
        selected_ = number_of(inside.substr(0, inside.find_first_of(" ]")));
        return selected_.has_value();
    }
    constexpr std::string_view kCollected = "collected ";
    const size_t at = line.find(kCollected);
    if (at == std::string_view::npos || (at != 0 && !line.starts_with("collecting"))) return false;
    std::string_view rest = line.substr(at + kCollected.size());
    const auto count = number_of(rest.substr(0, rest.find(' ')));
    if (!count) return false;
    selected_ = *count;
    // Of a verbose session "collecting ..." stands before it.
    if (at == 0 && !one_module() && !said_verbose_) said_verbose_ = false;
    for (size_t bar = rest.find(" / "); bar != std::string_view::npos; bar = rest.find(" / ")) {
        rest.remove_prefix(bar + 3);
        const std::string_view part = rest.substr(0, rest.find(" / "));
        const auto value = number_of(part.substr(0, part.find(' ')));
        if (value && part.ends_with(" deselected"))
            selected_ = std::max<std::int64_t>(*selected_ - *value, 0);
        if (!value || *value == 0 || !part.ends_with(" skipped")) continue;
        if (one_module())
            add_status(module_case(record_->path), State::skipped, {}, 0);
        else
            skipped_modules_ = *value;
    }
    return true;
}

}  // namespace compat::parsers
