// Where a run of unittest's ends: whether a closing is the run's own or printed by one of its
// tests, and what runs before it broke off. The walk over the lines: unittest_scanner.cc.
#include <algorithm>
#include <array>

#include "parsers/closing.h"
#include "parsers/foreign.h"
#include "parsers/unittest_scanner.h"

namespace compat::parsers {

namespace {

// What each progress character is counted as; the one of tests that passed by no word of its own.
struct Count {
    char character;
    std::string_view word;
};
constexpr std::array<Count, 6> kCounts{{
    {'.', {}},
    {'F', "failures"},
    {'E', "errors"},
    {'s', "skipped"},
    {'x', "expected failures"},
    {'u', "unexpected successes"},
}};

bool is_progress(char c) { return unittest_state_of(c).has_value(); }

}  // namespace

bool UnittestScanner::take_closing(LogLines& lines) {
    LogLines ahead = lines;
    if (!ahead.next() || !ahead.line().empty() || !ahead.next()) return false;
    auto closing = unittest_closing_of(lines.line(), ahead.line());
    if (!closing) return false;
    if (one_module() && log_.closing != rule_) {
        drop_sections();
        stage_ = Stage::results;
        return false;
    }
    if (status_within_) leave_sections();
    const auto from = broken_off_before(*closing);
    if (!is_of_run(*closing, from.has_value())) {
        // A test's own: what it printed before is no section of this run.
        drop_sections();
        stage_ = Stage::results;
        return false;
    }
    if (!one_module() && stage_ == Stage::sections && !from && !fits(*closing)) {
        const Next next = next_after(ahead);
        // It stands in what a failed test had printed, under its section.
        if (next == Next::part_of_run) return false;
        // A run within a test, which ends now.
        if (next == Next::status && !unended_.empty()) {
            drop_sections();
            stage_ = Stage::results;
            current_ = unended_.back().i;
            key_of_current_.clear();
            unended_.pop_back();
            return false;
        }
    }
    if (from) {
        break_off_before(*from);
        return true;
    }
    if (const size_t characters = characters_before(*closing)) {
        break_off_after(characters);
        return true;
    }
    end_run(std::move(closing), *rule_);
    next_ = ahead.after();
    return true;
}

// The run ends without a closing, and what follows is read again as another.
void UnittestScanner::break_off_before(size_t i) {
    next_ = said_[i].offset;
    drop_sections();
    record_->cases.resize(i);
    said_.resize(i);
    progress_.resize(i);
    path_.clear();
    several_paths_ = false;
    for (const CaseRecord& c : record_->cases) note_path(module_of(c));
    tail_from_ = std::min(after_ellipsis(said_.back().offset, next_), next_);
    end_run(std::nullopt, next_);
}

void UnittestScanner::break_off_after(size_t characters) {
    const auto line = std::find_if(character_lines_.begin(), character_lines_.end(),
                                   [&](const CharacterLine& l) { return l.first == characters; });
    if (line != character_lines_.end()) {
        next_ = line->offset;
    } else {
        const CharacterLine& last = character_lines_.back();
        next_ = log_.text.find(std::string_view(characters_).substr(last.first), last.offset) +
                characters - last.first;
    }
    drop_sections();
    characters_.resize(characters);
    tail_from_ = std::min(first_character(), next_);
    end_run(std::nullopt, next_);
}

// Whether the closing is the run's, and not one that a test printed.
bool UnittestScanner::is_of_run(const Closing& closing, bool after_broken_off) const {
    if (one_module()) return true;
    const std::int64_t ran = *closing.ran;
    if (verbose_) return !current_ || has_ended(*current_) || ran == headers_ || after_broken_off;
    // Without names: it cannot have run more tests than have left a trace.
    const auto traces = static_cast<std::int64_t>(characters_.size() + inside_ + sections_.size());
    return traces == 0 || ran <= traces;
}

// Whether the closing counts all that began: up to 3.12.0 and since 3.12.2 with what was skipped.
bool UnittestScanner::fits(const Closing& closing) const {
    if (!verbose_) return mixed_.size() + inside_ > 0 || characters_before(closing) == 0;
    return *closing.ran == headers_ || *closing.ran + count_in(closing, "skipped") == headers_;
}

bool UnittestScanner::begins_run(std::string_view line) const {
    if (line.empty()) return false;
    if (std::all_of(line.begin(), line.end(), is_progress)) return true;
    const auto header = header_of(line);
    return line.starts_with("Running ") ||
           (header && header->rest.starts_with(kEllipsis) && is_test(*header));
}

// Looks no further than to the next closing, so that all looks together go over the file once.
UnittestScanner::Next UnittestScanner::next_after(LogLines lines) const {
    for (bool rule = false; lines.next(); rule = lines.line() == kRule) {
        const std::string_view line = lines.line();
        if (line == kDoubleRule || (rule && line.starts_with("Ran "))) return Next::part_of_run;
        if (begins_run(line)) return Next::run;
        if (verbose_ && unittest_status_of(trimmed(line))) return Next::status;
    }
    return Next::nothing;
}

bool UnittestScanner::has_ended(size_t i) const {
    const Said& said = said_[i];
    const CaseRecord& c = record_->cases[i];
    return said.any || said.at_end || c.pseudo || !c.subcases.empty();
}

// The first test of this closing's run, where an earlier run broke off and its closing is missing:
// of a test that never ended, as many tests after it as the closing says were run.
std::optional<size_t> UnittestScanner::broken_off_before(const Closing& closing) const {
    if (one_module() || *closing.ran >= headers_) return std::nullopt;
    const std::int64_t before = headers_ - *closing.ran;
    const auto it =
        std::lower_bound(unended_.begin(), unended_.end(), before,
                         [](const Unended& u, std::int64_t n) { return u.headers < n; });
    if (it == unended_.end() || it->headers != before) return std::nullopt;
    // On one line with the test before it, it would be read with that one again, for ever.
    const size_t first = it->i + 1;
    if (said_[first].offset <= said_[it->i].offset) return std::nullopt;
    return first;
}

// How many of the characters are more than this closing counts, and so are of runs before it that
// broke off; none where prints stand between them. Where runs meet in a line it is cut there.
size_t UnittestScanner::characters_before(const Closing& closing) const {
    if (one_module() || verbose_ || characters_.empty() || mixed_.size() + inside_ > 0) return 0;
    std::array<std::int64_t, kCounts.size()> left{};
    for (size_t i = 0; i < left.size(); ++i)
        left[i] = kCounts[i].word.empty() ? *closing.ran : count_in(closing, kCounts[i].word);
    for (size_t i = characters_.size(); i-- > 0;) {
        const auto* const count =
            std::find_if(kCounts.begin(), kCounts.end(),
                         [&](const Count& known) { return known.character == characters_[i]; });
        if (--left[static_cast<size_t>(count - kCounts.begin())] >= 0) continue;
        const auto line =
            std::lower_bound(character_lines_.begin(), character_lines_.end(), i + 1,
                             [](const CharacterLine& l, size_t n) { return l.first < n; });
        if (line != character_lines_.end()) return line->first;
        // Escapes between the characters leave no place to cut.
        const CharacterLine& last = character_lines_.back();
        const std::string_view of_line = std::string_view(characters_).substr(last.first);
        const auto raw = log_.text.substr(last.offset, of_line.size() + 64);
        return raw.find(of_line) == std::string_view::npos ? 0 : i + 1;
    }
    return 0;
}

void UnittestScanner::drop_sections() {
    sections_.clear();
    open_section_ = false;
    within_test_ = false;
    status_within_.reset();
}

// Sections that the current test printed itself, reporting on tests that are none of this run: what
// follows them is results again.
bool UnittestScanner::leave_sections() {
    const bool own = std::any_of(sections_.begin(), sections_.end(), [&](const Section& section) {
        const auto header = header_of(section.heading);
        return header && find(*header);
    });
    if (own) {
        within_test_ = false;
        status_within_.reset();
        return false;
    }
    std::optional<UnittestStatus> status = std::move(status_within_);
    drop_sections();
    stage_ = Stage::results;
    if (status) take_status(std::move(*status));
    return true;
}

void UnittestScanner::take_within_test(std::string_view line) {
    const auto header = header_of(line);
    if (header && header->rest.starts_with(kEllipsis) && (one_module() || is_test(*header))) {
        if (leave_sections()) take_result(line);
    } else if (!line.empty() && line != kRule) {
        status_within_ = unittest_status_of(trimmed(line));
    }
}

size_t UnittestScanner::after_ellipsis(size_t offset, size_t end) const {
    const size_t at = log_.text.substr(offset, end - offset).find(kEllipsis);
    return at == std::string_view::npos ? end : offset + at + kEllipsis.size();
}

}  // namespace compat::parsers
