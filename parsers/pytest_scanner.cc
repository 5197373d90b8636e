#include "parsers/pytest_scanner.h"

#include <fmt/format.h>

#include <algorithm>

#include "parsers/closing.h"
#include "parsers/foreign.h"
#include "parsers/printed_end.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kStart = "test session starts";
constexpr std::string_view kSummary = "short test summary info";
constexpr std::string_view kInternalError = "INTERNALERROR>";
// What Python prints of its own death goes on behind the characters.
constexpr std::string_view kFatal = "Fatal Python error: ";
// A closing line is as wide as a terminal.
constexpr size_t kWidest = 2000;

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
    : log_(log), fallback_(valid_utf8(log.fallback)) {}

bool PytestScanner::has_content() const {
    return started_ || !record_->cases.empty() || !sections_.empty() || !summaries_.empty() ||
           !internal_error_.empty();
}

bool PytestScanner::next(ModuleRecord& record) {
    begin_session(record);
    const std::string_view text = log_.closing ? log_.text.substr(0, *log_.closing) : log_.text;
    for (LogLines lines(text, next_, true); lines.next();) {
        offset_ = lines.offset();
        const bool starts = !one_module() && pytest_ruled(lines.line(), '=') == kStart;
        if (starts && stage_ == Stage::captured) {
            ++nested_;
        } else if (starts) {
            if (has_content()) {
                next_ = offset_;
                end_session(std::nullopt, offset_);
                return true;
            }
            begin_session(record);
            started_ = true;
        } else if (!one_module() && take_closing(lines)) {
            return true;
        } else {
            take_line(lines);
        }
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
    nested_ = 0;
    started_ = timed_out_ = verbose_ = subtests_ = of_failures_ = open_section_ = false;
    root_.clear();
    stopped_.clear();
    internal_error_.clear();
    selected_.reset();
    skipped_modules_ = unnamed_ = 0;
    sections_.clear();
    summaries_.clear();
    characters_.clear();
    before_errors_.clear();
    errors_.clear();
    in_order_ = true;
    said_.clear();
    progress_.clear();
    repeats_.clear();
    by_id_.clear();
    by_node_.clear();
    by_heading_.clear();
    modules_.clear();
    current_.reset();
    after_output_.reset();
    last_closing_.reset();
    death_.reset();
    last_result_ = next_;
}

void PytestScanner::end_session(std::optional<Closing> closing, size_t end) {
    if (closing || log_.closing) settle_after_output();
    close_section(end);
    add_summaries();
    for (const Section& section : sections_) add_section(section);
    name_types();
    if (!one_module()) add_summarised();
    if (!internal_error_.empty()) add_internal_error();
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
    diagnose_.reset();
}

// Of the session, framed; with -q also plain. Of one whose output was captured, it is not ours.
bool PytestScanner::take_closing(const LogLines& lines) {
    const std::string_view line = lines.line();
    if (line.empty() || line.size() > kWidest || line.back() == '\r') return false;
    const bool framed = line.front() == '=';
    if (!framed && (line.front() < '0' || line.front() > '9') && !line.starts_with("no tests ran"))
        return false;
    if (line.find(" in ") == std::string_view::npos) return false;
    auto closing = pytest_closing_of(line);
    if (!closing) return false;
    if (nested_ > 0) {
        --nested_;
        return false;
    }
    if (!is_own_closing(line)) return false;
    if (!has_content() && characters_.empty() && closing->counts.empty()) return false;
    next_ = lines.after();
    end_session(std::move(closing), lines.offset());
    return true;
}

// Among its sections stands what tests printed, such lines as well: the last one before another
// session begins is its own. That shows in the other's first line, or, of a session that had none
// itself, in results.
bool PytestScanner::is_own_closing(std::string_view line) {
    if (stage_ != Stage::sections && stage_ != Stage::captured) return true;
    // That of a session with a first line is framed.
    if (started_ && line.front() != '=') return false;
    if (!last_closing_) {
        last_closing_ = offset_;
        for (LogLines later(log_.text, offset_, true); later.next();) {
            const std::string_view next = later.line();
            if (pytest_ruled(next, '=') == kStart) break;
            if (next.size() > kWidest) continue;
            if (!started_ && pytest_characters_of(next)) break;
            const bool of_its_kind = !started_ || next.starts_with('=');
            if (of_its_kind && next.find(" in ") != std::string_view::npos &&
                pytest_closing_of(next))
                last_closing_ = later.offset();
        }
    }
    return offset_ >= *last_closing_;
}

void PytestScanner::take_line(const LogLines& lines) {
    const std::string_view line = lines.line();
    if (line.starts_with(kInternalError)) {
        if (internal_error_.empty()) internal_offset_ = offset_;
        std::string_view text = line.substr(kInternalError.size());
        if (text.starts_with(' ')) text.remove_prefix(1);
        internal_error_.append(text).push_back('\n');
        return;
    }
    if (!line.empty() && nested_ == 0 && (line[0] == '=' || line[0] == '_' || line[0] == '-'))
        take_rule(lines);
    if (stage_ == Stage::results)
        take_result(line);
    else if (stage_ == Stage::summary) {
        if (const std::string_view stop = pytest_ruled(line, '!'); !stop.empty())
            stopped_ = valid_utf8(stop);
        else if (const auto summary = pytest_summary_of(line))
            summaries_.push_back({summary->state, summary->count, summary->of_subtest,
                                  std::string(summary->text), std::string(summary->label)});
    }
    if (line.starts_with('+') && pytest_ruled(line, '+') == "Timeout") timed_out_ = true;
}

void PytestScanner::take_rule(const LogLines& lines) {
    const std::string_view line = lines.line();
    if (const std::string_view section = pytest_ruled(line, '='); !section.empty()) {
        const bool broken = section == "ERRORS" || section == "FAILURES";
        // Up to the first of these, tests run; a log of our own attempt may hold others.
        if (stage_ == Stage::results && !broken &&
            (one_module() ||
             (section != kSummary && section != "PASSES" && section != "warnings summary")))
            return;
        settle_after_output();
        close_section(offset_);
        of_failures_ = broken;
        stage_ = section == kSummary ? Stage::summary : Stage::sections;
    } else if (stage_ == Stage::results || stage_ == Stage::summary) {
        return;
    } else if (const std::string_view heading = pytest_ruled(line, '_'); !heading.empty()) {
        stage_ = Stage::sections;
        if (!of_failures_) return;
        close_section(offset_);
        sections_.push_back({std::string(heading), offset_, lines.after(), lines.after()});
        open_section_ = true;
    } else if (begins_captured_output(line)) {
        stage_ = Stage::captured;
    }
}

void PytestScanner::close_section(size_t end) {
    if (open_section_) sections_.back().end = std::max(end, sections_.back().body);
    open_section_ = false;
}

void PytestScanner::take_result(std::string_view line) {
    if (!selected_ && take_preamble(line)) return;
    if (auto node = pytest_node_of(line)) {
        settle_after_output();
        last_result_ = offset_ + node->node.size();
        current_ = find_or_add(node->node);
        verbose_ = true;
        if (node->after_output)
            after_output_ = std::move(node->status);
        else if (node->status)
            add_status(*current_, node->status->state, std::move(node->status->reason),
                       node->status->duration_s);
        return;
    }
    if (current_ && !said_[*current_].any) {
        // The outcome of a test whose own output had broken its line.
        const std::string_view text = trimmed(line);
        if (auto status = pytest_status_of(text)) {
            after_output_.reset();
            add_status(*current_, status->state, std::move(status->reason), status->duration_s);
        } else if (!text.empty()) {
            after_output_ = pytest_status_at_end(text);
        }
        return;
    }
    if (one_module()) return;
    if (const std::string_view stop = pytest_ruled(line, '!'); !stop.empty())
        stopped_ = valid_utf8(stop);
    else if (!verbose_)
        if (const auto found = pytest_characters_of(line.substr(0, line.find(kFatal)))) {
            last_result_ = offset_;
            take_characters(*found);
        }
}

void PytestScanner::settle_after_output() {
    if (after_output_ && current_ && !said_[*current_].any)
        add_status(*current_, after_output_->state, std::move(after_output_->reason),
                   after_output_->duration_s);
    after_output_.reset();
}

void PytestScanner::take_characters(const PytestCharacters& found) {
    const bool goes_on = found.file.empty() && !characters_.empty();
    if (!goes_on && (characters_.empty() || characters_.back().file != found.file))
        characters_.push_back({valid_utf8(found.file), {}});
    subtests_ = subtests_ || found.characters.find('u') != std::string_view::npos;
    for (const char c : found.characters)
        if (const auto state = pytest_state_of(c)) {
            ++characters_.back().counts[static_cast<size_t>(*state)];
            if (*state == State::errored) before_errors_.push_back(last_character_);
            last_character_ = *state;
        }
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
