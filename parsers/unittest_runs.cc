// Where a run of unittest's ends: whether a closing is the run's own or printed by one of its
// tests, and what runs before it broke off. The walk over the lines: unittest_scanner.cc.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>

#include "parsers/closing.h"
#include "parsers/import/foreign.h"
#include "parsers/text.h"
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

// Whether the last line of the text holds nothing else.
bool ends_with_characters(std::string_view text) {
    text = trimmed(text);
    text.remove_prefix(text.rfind('\n') + 1);
    return !text.empty() && std::all_of(text.begin(), text.end(), is_unittest_progress);
}

bool has_captured(std::string_view text) {
    return text.find("\nStdout:\n") != std::string_view::npos ||
           text.find("\nStderr:\n") != std::string_view::npos;
}

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
    // A run within the test, which ends now.
    const bool within = !one_module() && current_ && !has_ended(*current_) && !status_within_ &&
                        next_after(ahead) == Next::status;
    if (offset_ < whole_until_ || (within && offset_ != whole_until_)) {
        // In what a failed test had printed, under its section.
        if (!within && stage_ == Stage::sections && next_after(ahead) == Next::part_of_run)
            return false;
        drop_sections();
        stage_ = Stage::results;
        return false;
    }
    if (offset_ == whole_until_ && offset_ > 0) {
        next_ = ahead.after();
        end_run(std::move(closing), *rule_);
        return true;
    }
    if (const size_t runs = one_module() ? 0 : enclosed_by(*closing)) {
        read_again(runs);
        return true;
    }
    if (status_within_) leave_sections();
    if (names_are_printed(*closing)) return true;
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
    next_ = ahead.after();
    end_run(std::move(closing), *rule_);
    return true;
}

// Characters, and then lines with names: a run that is not verbose broke off before another, or a
// test of its own made that.
bool UnittestScanner::take_names(std::string_view line) {
    if (verbose_ || of_characters_ || stage_ != Stage::results || line.empty()) return false;
    const auto header = header_of(line);
    if (!header || !header->rest.starts_with(kEllipsis) || !is_test(*header)) return false;
    // Characters right in front of a name are letters like its own: since Python 3.11 it is said
    // twice.
    const std::string_view method = header->method;
    const std::string_view last = header->qualified.substr(header->qualified.rfind('.') + 1);
    const size_t leading = static_cast<size_t>(
        std::find_if_not(method.begin(), method.end(), is_unittest_progress) - method.begin());
    size_t before = method.size() - std::min(method.size(), last.size());
    if (!method.ends_with(last) || before > leading)
        before = method.substr(0, leading).rfind('.') + 1;
    const auto at = place_of(line);
    if (characters_.size() + before == 0 || !at) return false;
    if (before > 0) {
        character_lines_.push_back({characters_.size(), offset_});
        characters_ += method.substr(0, before);
    }
    next_ = *at + before;
    tail_from_ = std::min(tail_from_, next_);
    doubt();
    end_run(std::nullopt, next_);
    return true;
}

void UnittestScanner::doubt() {
    doubt_ = Diagnostic{"log", static_cast<std::int64_t>(first_character()),
                        fmt::format("{} characters like those of a run, which nothing closes or "
                                    "names",
                                    characters_.size())};
}

// Remembers the run that ends, and those before it as far as they can be of one with it. Bounded,
// for each that proves to be is read once more.
void UnittestScanner::keep_earlier(const std::optional<Closing>& closing, size_t end) {
    constexpr size_t kMostRuns = 64;
    constexpr size_t kMostBytes = 8 << 20;
    Earlier run{begin_, begin_, end, room_before_, closing.has_value(), verbose_, 0, 0};
    const auto characters = static_cast<std::int64_t>(characters_.size());
    const auto printed = static_cast<std::int64_t>(mixed_.size() + inside_);
    run.least = verbose_ ? headers_ : characters;
    run.most = verbose_ ? headers_ : characters + printed;
    if (closing) {
        const std::int64_t ran = counted(*closing, {});
        // Of 3.12.1, lines of what decorators skip.
        const bool fits = verbose_ && run.least <= ran + counted(*closing, "skipped");
        run.most = fits ? 0 : std::max<std::int64_t>(run.least - ran, 0);
        // More characters than tests may be the several outcomes of one.
        run.least = verbose_ ? run.most : 0;
        for (std::int64_t more = run.least; const CaseRecord& c : record_->cases) {
            run.own = said_[static_cast<size_t>(&c - record_->cases.data())].offset;
            if (c.started && --more < 0) break;
        }
    }
    earlier_.push_back(run);
    const Earlier& first = earlier_.front();
    if ((first.closed && first.most == 0) || earlier_.size() > kMostRuns ||
        end - first.begin > kMostBytes)
        earlier_.clear();
}

// How many of the runs before belong to the one that this closing ends, or were made by its tests:
// it counts more than has been seen of it, as many as they have that no closing of theirs counts.
size_t UnittestScanner::enclosed_by(const Closing& closing) const {
    const std::int64_t ran = counted(closing, {});
    const std::int64_t begun = ran + counted(closing, "skipped");  // of 3.12.1 alone
    const auto characters = static_cast<std::int64_t>(characters_.size());
    const auto printed = static_cast<std::int64_t>(mixed_.size() + inside_);
    if (verbose_ ? headers_ >= ran : characters + printed >= ran) return 0;
    // All that is read again is no longer than the file, twice.
    if (earlier_.empty() || read_again_ + offset_ - earlier_.front().begin > 2 * log_.text.size())
        return 0;
    for (const bool verbose : {true, false}) {
        std::int64_t least = verbose ? headers_ : characters;
        std::int64_t most = verbose ? headers_ : characters + printed;
        bool encloses = false;  // what ended in order; a run that broke off is none of this one
        for (size_t n = 1; n <= earlier_.size() && least <= begun; ++n) {
            const Earlier& run = earlier_[earlier_.size() - n];
            encloses |= run.closed;
            if (run.most == 0) continue;
            if (run.verbose != verbose && !run.closed) break;
            if (run.verbose != verbose) continue;
            least += run.least;
            most += run.most;
            if (encloses && least <= begun && ran <= most) return n;
        }
    }
    return 0;
}

void UnittestScanner::read_again(size_t runs) {
    const auto first = earlier_.end() - static_cast<std::ptrdiff_t>(runs);
    std::copy_if(first, earlier_.end(), std::back_inserter(inner_),
                 [](const Earlier& run) { return run.closed; });
    whole_until_ = offset_;
    read_again_ += offset_ - first->begin;
    of_characters_ = !first->verbose;
    for (Earlier& run : inner_)
        if (run.verbose == first->verbose) run.begin = run.own;
    next_ = first->begin;
    room_ = first->room;
    taken_back_ += runs;
    earlier_.erase(first, earlier_.end());
}

// Where there are more sections than the closing counts, those were printed by the one before that
// no line names, that stand right under its text, or in what its test had printed.
void UnittestScanner::fold_sections(const Closing& closing) {
    std::int64_t more = -counted(closing, "failures") - counted(closing, "errors");
    for (const Section& section : sections_) more += section.state != State::xpassed;
    const auto text_of = [&](const Section& section) {
        return log_.text.substr(section.body, section.end - section.body);
    };
    for (const bool captured : {false, true}) {
        if (sections_.size() < 2 || more <= 0) return;
        size_t kept = 0;  // the last one of those that stay
        bool captures = captured && has_captured(text_of(sections_[0]));
        for (size_t i = 1; i < sections_.size(); ++i) {
            Section& section = sections_[i];
            Section& before = sections_[kept];
            const bool may_go = more > 0 && section.state != State::xpassed;
            if (may_go && !captured && !verbose_ && !section.apart &&
                ends_with_characters(text_of(before))) {
                // Results again: a test had printed the sections before.
                more -= static_cast<std::int64_t>(kept) + 1;
                sections_[kept = 0] = std::move(section);
            } else if (may_go && (captured ? captures : !section.apart || !is_named(section))) {
                before.end = section.end;
                --more;
            } else {
                captures = captured && has_captured(text_of(section));
                if (++kept != i) sections_[kept] = std::move(section);
            }
        }
        sections_.resize(kept + 1);
    }
}

// Whether its heading is a test's or a fixture's of this run.
bool UnittestScanner::is_named(const Section& section) {
    const auto header = header_of(section.heading);
    return header && (!verbose_ || unittest_fixture_of(header->method) || find(*header));
}

bool UnittestScanner::is_printed(size_t i, size_t before) const {
    const Said& said = said_[i];
    return said.any && said.again && !said.failed_section && !said.errored_section &&
           !record_->cases[i].pseudo && !has_ended(before);
}

// Whether the run has as many characters as the closing counts, and its tests printed what looks
// like names: then it is read again as such. Not where drop_printed() finds as many tests as the
// closing counts, or names and outcomes are there for most of these: then a test printed the
// characters.
bool UnittestScanner::names_are_printed(const Closing& closing) {
    const std::int64_t ran = counted(closing, {});
    if (one_module() || !verbose_ || of_characters_ || ran == 0 || fits(closing)) return false;
    const std::int64_t own = headers_ - printed_;
    const auto told = std::count_if(said_.begin(), said_.end(),
                                    [](const Said& said) { return said.any || said.at_end; });
    if (own == ran || (own < ran && 2 * told > ran)) return false;
    // The names seemed to begin another run.
    const bool is_split = !earlier_.empty() && !earlier_.back().closed &&
                          !earlier_.back().verbose && earlier_.back().end == begin_;
    const size_t begin = is_split ? earlier_.back().begin : begin_;
    looked_over_ += offset_ - begin;
    if (read_again_ + looked_over_ > 2 * log_.text.size()) return false;
    std::int64_t characters = is_split ? earlier_.back().least : 0;
    const size_t end = sections_.empty() ? *rule_ : sections_.front().offset;
    for (LogLines lines(log_.text.substr(0, end), begin_, true); lines.next();) {
        const std::string_view line = lines.line();
        if (std::all_of(line.begin(), line.end(), is_unittest_progress))
            characters += static_cast<std::int64_t>(line.size());
    }
    if (characters != ran) return false;
    read_again_ += offset_ - begin;
    next_ = begin;
    room_ = is_split ? earlier_.back().room : room_before_;
    taken_back_ += is_split;
    if (is_split) earlier_.pop_back();
    whole_until_ = offset_;
    of_characters_ = again_ = true;
    given_up_ = headers_;
    return true;
}

// Where more tests have lines than the closing counts: one with two statuses in a test without any
// was printed by that, and the second is that one's.
void UnittestScanner::drop_printed(const Closing& closing) {
    if (headers_ <= counted(closing, {})) return;
    size_t kept = 0;
    for (size_t i = 0; i < said_.size(); ++i) {
        if (kept > 0 && is_printed(i, kept - 1)) {
            said_[kept - 1].any = true;
            record_->cases[kept - 1].state = *said_[i].again;
            continue;
        }
        if (kept != i) {
            record_->cases[kept] = std::move(record_->cases[i]);
            said_[kept] = said_[i];
        }
        ++kept;
    }
    record_->cases.resize(kept);
    said_.resize(kept);
    progress_.resize(kept);
    repeats_.resize(kept);
}

// Where in the file it stands; nothing where it is no part of it, for escapes were taken off.
std::optional<size_t> UnittestScanner::place_of(std::string_view part) const {
    const std::less_equal<const char*> ordered;
    const std::string_view text = log_.text;
    if (!ordered(text.data(), part.data()) ||
        !ordered(part.data() + part.size(), text.data() + text.size()))
        return std::nullopt;
    return static_cast<size_t>(part.data() - text.data());
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
    headers_ = std::count_if(record_->cases.begin(), record_->cases.end(),
                             [](const CaseRecord& c) { return c.started; });
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
    const std::int64_t ran = counted(closing, {});
    if (verbose_) return !current_ || has_ended(*current_) || ran == headers_ || after_broken_off;
    // Without names: it cannot have run more tests than have left a trace. With -q none does,
    // whatever they print.
    const auto traces = static_cast<std::int64_t>(characters_.size() + inside_ + sections_.size());
    return characters_.empty() || ran <= traces;
}

// Whether the closing counts all that began: up to 3.12.0 and since 3.12.2 with what was skipped.
bool UnittestScanner::fits(const Closing& closing) const {
    if (!verbose_)
        return mixed_.size() + inside_ > 0 ||
               (characters_before(closing) == 0 &&
                *closing.ran <= static_cast<std::int64_t>(characters_.size()));
    return *closing.ran == headers_ || *closing.ran + counted(closing, "skipped") == headers_;
}

bool UnittestScanner::begins_run(std::string_view line) const {
    if (line.empty()) return false;
    if (!verbose_ && std::all_of(line.begin(), line.end(), is_unittest_progress)) return true;
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
    if (one_module() || *closing.ran >= headers_ - printed_) return std::nullopt;
    const std::int64_t before = headers_ - *closing.ran;
    const auto from = [&](std::int64_t least) {
        return std::lower_bound(unended_.begin(), unended_.end(), least,
                                [](const Unended& u, std::int64_t n) { return u.headers < n; });
    };
    auto it = from(before);
    // 3.12.1 alone does not count what decorators skip.
    if (it == unended_.end() || it->headers > before)
        it = from(before - counted(closing, "skipped"));
    if (it == unended_.end() || it->headers > before) return std::nullopt;
    // Where escapes hide that it follows on one line, it would be read with that one for ever.
    const size_t first = it->i + 1;
    if (said_[first].offset <= said_[it->i].offset) return std::nullopt;
    return first;
}

// How many of the characters are more than this closing counts, and so are of runs before it that
// broke off; none where prints stand between them. Where runs meet in a line it is cut there.
size_t UnittestScanner::characters_before(const Closing& closing) const {
    if (one_module() || verbose_ || characters_.empty() || mixed_.size() + inside_ > 0) return 0;
    std::array<std::int64_t, kCounts.size()> left{};
    for (size_t i = 0; i < left.size(); ++i) left[i] = counted(closing, kCounts[i].word);
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
    own_section_ = false;
    open_section_ = false;
    within_test_ = false;
    status_within_.reset();
}

// Sections that the current test printed itself, reporting on tests that are none of this run: what
// follows them is results again.
bool UnittestScanner::leave_sections() {
    if (own_section_) {
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
