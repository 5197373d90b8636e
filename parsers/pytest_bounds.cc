// Where a session of pytest's ends, and what of what looks like its frame is only what its tests
// printed: other sessions, too. The marks: pytest_marks.h.
#include <fmt/format.h>

#include <algorithm>

#include "parsers/closing.h"
#include "parsers/pytest_scanner.h"

namespace compat::parsers {

namespace {

using MarkKind = PytestMark::Kind;

// How many marks ahead a closing is looked for.
constexpr size_t kFurthest = 64;

}  // namespace

PytestScanner::Meaning PytestScanner::meaning_of_mark(const LogLines& lines) {
    while (mark_ < marks_.size() && marks_[mark_].offset < offset_) ++mark_;
    if (mark_ == marks_.size() || marks_[mark_].offset != offset_) return Meaning::line;
    if (marks_[mark_].kind == MarkKind::start) return meaning_of_start(lines);
    if (one_module() || !may_close(mark_)) return Meaning::line;
    find_own_closing();
    return own_closing_ == mark_ ? Meaning::ends_it : Meaning::line;
}

PytestScanner::Meaning PytestScanner::meaning_of_start(const LogLines& lines) {
    const PytestMark& mark = marks_[mark_];
    const bool is_first = one_module() ? own_start_ == kNone : !has_content();
    if (is_first) {
        if (!one_module()) begin_session(*record_);
        own_start_ = mark_;
        width_ = mark.width;
        return Meaning::passed_over;
    }
    if (!is_within_test(mark_)) return Meaning::begins_another;
    // Behind the name of the test that runs it.
    const std::string_view line = lines.line();
    if (stage_ == Stage::results && !line.starts_with('='))
        take_line(line.substr(0, line.find_last_not_of('=', line.rfind(" test session")) + 1),
                  lines.after());
    if (mark.pair != kNone && mark.pair != own_closing_) skip_to_ = marks_[mark.pair].after;
    return Meaning::passed_over;
}

// Among the results a session within a test shows in more of its own after it.
bool PytestScanner::is_within_test(std::uint32_t start) {
    if (one_module()) return true;
    if (stage_ != Stage::results && own_closing_ != kNone) return own_closing_ > start;
    if (stage_ != Stage::results)
        return own_summary_ != std::string_view::npos && own_summary_ > offset_;
    const std::uint32_t own = own_start_ == kNone ? kNone : marks_[own_start_].pair;
    if (own == kNone || own < start) return false;
    if (!results_go_on_) {
        const PytestMark& before = marks_[own - 1];
        results_go_on_ =
            before.kind == MarkKind::summary || has_result(before.after, marks_[own].offset);
    }
    return *results_go_on_;
}

bool PytestScanner::has_result(size_t begin, size_t end) const {
    for (LogLines lines(log_.text.substr(0, end), begin); lines.next();) {
        const std::string_view line = lines.line();
        if (const auto node = pytest_node_of(line); node && node->status) return true;
        if (pytest_characters_of(line) || pytest_status_at_end(line)) return true;
        if (const std::string_view section = pytest_ruled(line, '=');
            section == "ERRORS" || section == "FAILURES")
            return true;
    }
    return false;
}

// What a mark must be to close this session, whatever it counts.
bool PytestScanner::may_close(std::uint32_t mark) const {
    const PytestMark& it = marks_[mark];
    if (own_start_ != kNone) return it.kind == MarkKind::closing && fills_terminal(it, width_);
    return it.kind == MarkKind::plain || (it.kind == MarkKind::closing && it.pair == kNone);
}

// Whether a closing counts what was read of the results. Sub-tests that failed may have no line,
// and what broke in other ways than a call has not always one.
bool PytestScanner::agrees(std::uint32_t closing) const {
    const Closing counted = closing_at(log_.text, marks_[closing]);
    return agree(counted, by_characters_) || (verbose_ && agree(counted, by_lines_));
}

bool PytestScanner::agree(const Closing& closing, const Counts& counts) {
    const auto read = [&](State state) { return counts[static_cast<size_t>(state)]; };
    return count_in(closing, "passed") == read(State::passed) &&
           count_in(closing, "xfailed") == read(State::xfailed) &&
           count_in(closing, "xpassed") == read(State::xpassed) &&
           count_in(closing, "failed") >= read(State::failed);
}

void PytestScanner::find_own_closing() {
    if (bounds_known_) return;
    // While there are results, more of them may come.
    bounds_known_ = stage_ != Stage::results;
    if (one_module())
        own_closing_ = closing_of_log_;
    else if (own_start_ != kNone)
        own_closing_ = agreeing_closing(marks_[own_start_].pair);
    else
        own_closing_ = quiet_closing();
    own_summary_ = std::string_view::npos;
    if (own_start_ == kNone && !one_module() && (own_closing_ == kNone || !agrees(own_closing_))) {
        // With -qq there is no closing: none follows the summary.
        const size_t last = last_summary();
        if (last != std::string_view::npos &&
            (own_closing_ == kNone || last > marks_[own_closing_].offset)) {
            own_closing_ = kNone;
            own_summary_ = last;
        }
    }
    // Between it and the closing is no other mark.
    if (own_closing_ != kNone && own_closing_ > 0 &&
        marks_[own_closing_ - 1].kind == MarkKind::summary)
        own_summary_ = marks_[own_closing_ - 1].offset;
}

// The last one before another session's first line, if no closing follows it.
size_t PytestScanner::last_summary() const {
    const size_t furthest = std::min<size_t>(marks_.size(), mark_ + kFurthest);
    size_t last = std::string_view::npos;
    for (std::uint32_t i = mark_; i < furthest; ++i) {
        const PytestMark& mark = marks_[i];
        if (mark.kind == MarkKind::summary && fills_terminal(mark, width_)) last = mark.offset;
        if (may_close(i)) last = std::string_view::npos;
        if (mark.kind != MarkKind::start || mark.width != width_) continue;
        if (stage_ == Stage::results || mark.pair == kNone) break;
        i = mark.pair;
    }
    return last;
}

// Of a session with a first line, which `paired` closes if tests print nothing like it.
std::uint32_t PytestScanner::agreeing_closing(std::uint32_t paired) const {
    const auto furthest =
        static_cast<std::uint32_t>(std::min<size_t>(marks_.size(), mark_ + kFurthest));
    if (stage_ == Stage::results) {
        if (paired != kNone && paired > mark_) return paired;
        std::int64_t read = 0;
        for (const std::int64_t count : printed()) read += count;
        if (agrees(mark_) && (!selected_ || read >= *selected_)) return mark_;
        for (std::uint32_t i = mark_ + 1; i < furthest && marks_[i].kind != MarkKind::start; ++i)
            if (may_close(i)) return i;
        return mark_;
    }
    if (paired != kNone && paired >= mark_ && agrees(paired)) return paired;
    for (std::uint32_t i = mark_; i < furthest; ++i) {
        const bool begins = marks_[i].kind == MarkKind::start && marks_[i].width == width_;
        if (paired != kNone && i > paired && begins) break;
        if (may_close(i) && agrees(i)) return i;
    }
    return paired != kNone && paired >= mark_ ? paired : kNone;
}

// A closing soon after `printed`, which counts what was read before that one and what comes behind
// it: then a test printed the first. kNone: there is none, or each of several before it counts what
// stands in front of it alone, so that these are of sessions.
std::uint32_t PytestScanner::closing_of_more(std::uint32_t printed) const {
    constexpr std::uint32_t kSoon = 4;
    constexpr size_t kNear = 1 << 20;
    const auto last = static_cast<std::uint32_t>(
        std::min<size_t>(marks_.size(), std::size_t{printed} + 1 + kSoon));
    Counts read = by_characters_;
    Counts since{};  // the closing before
    bool each_its_own = agrees(printed);
    bool are_several = false;
    const size_t before = marks_[printed].after;
    for (std::uint32_t i = printed + 1; i < last && marks_[i].kind != MarkKind::start; ++i) {
        if (marks_[i].offset - before > kNear) break;
        const size_t begin = marks_[i - 1].after;
        for (LogLines lines(log_.text.substr(0, marks_[i].offset), begin); lines.next();)
            if (const auto found = pytest_characters_of(lines.line()))
                for (const char c : found->characters)
                    if (const auto state = pytest_state_of(c)) {
                        ++read[static_cast<size_t>(*state)];
                        ++since[static_cast<size_t>(*state)];
                    }
        if (!may_close(i)) continue;
        const Closing counted = closing_at(log_.text, marks_[i]);
        const auto counts = [&](std::string_view word, State state) {
            return count_in(counted, word) == read[static_cast<size_t>(state)];
        };
        if (read != by_characters_ && counts("passed", State::passed) &&
            counts("failed", State::failed) && counts("skipped", State::skipped) &&
            counts("xfailed", State::xfailed))
            return are_several && each_its_own ? kNone : i;
        each_its_own = each_its_own && agree(counted, since);
        are_several = true;
        since.fill(0);
    }
    return kNone;
}

// Of a session of -q. Where no closing agrees, the last one before there are results again.
std::uint32_t PytestScanner::quiet_closing() {
    const auto furthest =
        static_cast<std::uint32_t>(std::min<size_t>(marks_.size(), mark_ + kFurthest));
    if (stage_ == Stage::results) return quiet_closing_among_results();
    std::uint32_t last = kNone;
    bool same_session = true;
    for (std::uint32_t i = mark_; i < furthest; ++i) {
        if (marks_[i].kind == MarkKind::start) {
            if (marks_[i].pair == kNone)
                same_session = false;
            else
                i = marks_[i].pair;
            continue;
        }
        if (!may_close(i)) continue;
        if (agrees(i)) return i;
        same_session =
            same_session && (last == kNone || !has_result(marks_[last].after, marks_[i].offset));
        if (same_session) last = i;
    }
    return last;
}

// Of -q, what stands in a part of the log.
PytestScanner::Found PytestScanner::found_in(size_t begin, size_t end) const {
    Found read;
    for (LogLines lines(log_.text.substr(0, end), begin); lines.next();) {
        if (const auto found = pytest_characters_of(lines.line())) {
            for (const char c : found->characters)
                if (const auto state = pytest_state_of(c))
                    ++read.characters[static_cast<size_t>(*state)];
        } else {
            read.take_around(lines.line());
        }
    }
    return read;
}

// Whether it counts all that surely are characters of tests, and no more than may be.
bool PytestScanner::may_count(const Closing& closing, const Found& found) {
    constexpr std::array<std::pair<std::string_view, State>, 4> kSure{{
        {"passed", State::passed},
        {"failed", State::failed},
        {"xfailed", State::xfailed},
        {"xpassed", State::xpassed},
    }};
    return std::all_of(kSure.begin(), kSure.end(), [&](const auto& known) {
        const auto n = static_cast<size_t>(known.second);
        const std::int64_t least = found.characters[n] + found.runs[n];
        const std::int64_t count = count_in(closing, known.first);
        return least <= count && count <= least + found.around[n];
    });
}

// Whether fewer ended so than surely have characters.
bool PytestScanner::is_contradicted(const Closing& closing) const {
    const auto fewer = [&](std::string_view word, State state) {
        const auto n = static_cast<size_t>(state);
        return count_in(closing, word) < by_characters_[n] + runs_[n];
    };
    return fewer("passed", State::passed) || fewer("failed", State::failed) ||
           fewer("xfailed", State::xfailed) || fewer("xpassed", State::xpassed);
}

// With -s a test may print a closing. The one at hand is the session's if it counts what was read,
// if the next one counts what follows, or if there is none.
std::uint32_t PytestScanner::quiet_closing_among_results() {
    if (const std::uint32_t whole = closing_of_more(mark_); whole != kNone) {
        pass_over();
        return whole;
    }
    if (agrees(mark_)) return mark_;
    const auto furthest =
        static_cast<std::uint32_t>(std::min<size_t>(marks_.size(), mark_ + kFurthest));
    std::uint32_t next = mark_ + 1;
    while (next < furthest && marks_[next].kind != MarkKind::start && !may_close(next)) ++next;
    if (next >= furthest || marks_[next].kind == MarkKind::start) return mark_;
    const auto none = [](const Counts& counts) { return counts == Counts{}; };
    const bool is_alone = none(by_characters_) && none(runs_) && none(around_) && none(by_lines_);
    const Found read = found_in(marks_[mark_].after, marks_[next].offset);
    if (is_alone && none(read.characters)) return mark_;
    const Closing here = closing_at(log_.text, marks_[mark_]);
    const Closing there = closing_at(log_.text, marks_[next]);
    if (!none(read.characters) && agree(there, read.characters) && !is_contradicted(here))
        return mark_;
    const Found before{by_characters_, runs_, around_};
    // What stands in front of prints is mostly of tests.
    constexpr auto kPassed = static_cast<size_t>(State::passed);
    const bool counts_all =
        count_in(here, "passed") == by_characters_[kPassed] + runs_[kPassed] + around_[kPassed];
    const bool are_sure = !none(by_characters_) && !none(read.characters);
    if (!none(by_lines_) || !may_count(here, before) || !(counts_all || are_sure)) {
        pass_over();
        return kNone;
    }
    Found all = read;
    all.add(before);
    const bool are_two = may_count(there, read);
    const bool is_one = may_count(there, all);
    if (is_one && !are_two) {
        pass_over();
        return kNone;
    }
    if (is_one || !are_two)
        doubt(marks_[mark_].offset,
              "a line may close a session or be what a test printed, and nothing tells which");
    return mark_;
}

void PytestScanner::pass_over() {
    ++passed_over_;
    const auto none = [](const Counts& counts) { return counts == Counts{}; };
    nothing_before_ = none(by_characters_) && none(runs_) && none(around_);
    since_passed_over_.fill(0);
}

// The closings that were passed over may be of sessions of their own, unless what stands behind the
// last of them is too little for this closing.
void PytestScanner::doubt_closing(const Closing& closing, size_t offset) {
    const auto too_few = [&](std::string_view word, State state) {
        return since_passed_over_[static_cast<size_t>(state)] < count_in(closing, word);
    };
    const bool is_whole = nothing_before_ && agree(closing, by_characters_);
    if (is_whole || too_few("passed", State::passed) || too_few("failed", State::failed) ||
        too_few("skipped", State::skipped))
        return;
    doubt(offset, fmt::format("{} more lines may close a session, and nothing tells which a test "
                              "printed",
                              passed_over_));
}

// Where a session of -q ends of which the rule at hand is one; 0: there is none.
size_t PytestScanner::end_of_quiet_session() const {
    std::uint32_t i = mark_;
    while (i < marks_.size() && marks_[i].offset <= offset_) ++i;
    if (i < marks_.size() && marks_[i].kind == MarkKind::summary) ++i;
    if (i == marks_.size() || marks_[i].kind != MarkKind::plain || i == own_closing_) return 0;
    return marks_[i].after;
}

}  // namespace compat::parsers
