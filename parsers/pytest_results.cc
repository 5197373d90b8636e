// The results of a session of pytest's, line by line while tests run and print: which words are
// the session's own, and whose. The walk over the lines: pytest_scanner.cc.
#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "parsers/pytest_scanner.h"

namespace compat::parsers {

void PytestScanner::take_result(std::string_view line) {
    if (!selected_ && take_preamble(line)) return;
    if (auto node = pytest_node_of(line)) return take_node(std::move(*node), line);
    if (current_ && take_outcome(line)) return;
    if (one_module()) return;
    if (const std::string_view stop = pytest_ruled(line, '!'); !stop.empty()) {
        stopped_ = valid_utf8(stop);
        is_pytest_ = true;
    } else if (pytest_ruled(line, '-').starts_with("live log ")) {
        said_verbose_ = true;
    } else if (const auto found = pytest_characters_of(line)) {
        last_result_ = offset_;
        take_characters(*found);
    } else if (own_start_ == kNone) {
        take_around(line);
    }
}

// Characters at both ends of what a test prints, which may be the session's.
void PytestScanner::Found::take_around(std::string_view line) {
    constexpr size_t kRun = 4;  // words have no more
    const auto is_other = [](char c) { return !pytest_state_of(c); };
    const auto add = [](Counts& counts, auto from, auto to) {
        for (; from != to; ++from) ++counts[static_cast<size_t>(*pytest_state_of(*from))];
    };
    const auto* const head = std::find_if(line.begin(), line.end(), is_other);
    const auto tail = std::find_if(line.rbegin(), line.rend(), is_other).base();
    const auto size = static_cast<size_t>(head - line.begin());
    add(size >= kRun ? runs : around, line.begin(), head);
    add(around, tail, line.end());
}

void PytestScanner::Found::add(const Found& more) {
    for (size_t n = 0; n < characters.size(); ++n) {
        characters[n] += more.characters[n];
        runs[n] += more.runs[n];
        around[n] += more.around[n];
    }
}

void PytestScanner::take_around(std::string_view line) {
    Found found;
    found.take_around(line);
    for (size_t n = 0; n < around_.size(); ++n) {
        runs_[n] += found.runs[n];
        around_[n] += found.around[n];
        since_passed_over_[n] += found.runs[n] + found.around[n];
    }
}

void PytestScanner::take_node(PytestNode node, std::string_view line) {
    settle_after_output();
    // No test begins before the one before it has ended.
    const bool is_open = current_ && in_order_ && (!said_[*current_].any || may_be_open_);
    if (is_open && verbose_ && node.status && !node.after_output && !node.of_subtest &&
        node.node != record_->cases[*current_].name) {
        pending_.push_back({std::string(line), offset_});
        return;
    }
    add_pending();
    if (!in_order_ && node.after_output && !node.status) {
        verbose_ = true;
        const std::string_view name = trimmed(line);
        if (name.size() > node.node.size()) {
            announced_.push_back(valid_utf8(name));
            return;
        }
    }
    const auto is_it = [&](std::uint32_t at) { return record_->cases[at].name == node.node; };
    const std::uint32_t* const known =
        is_open ? by_node_.find(NameIndex::hash_of(node.node), is_it) : nullptr;
    if (known && *known != *current_ && said_[*known].any) {
        (void)take_outcome(line);
        return;
    }
    if (is_open && !known && !said_[*current_].any)
        lost_.push_back({*current_, record_->cases.size()});
    begin_test(node);
    if (node.of_subtest) {
        by_lines_[static_cast<size_t>(State::failed)] += node.status.has_value();
    } else if (node.after_output) {
        tests_print_ = tests_print_ || in_order_;
        before_output_ = pytest_status_at_start(node.output);
        if (!before_output_ && !node.status) before_output_ = pytest_status_within(node.output);
        after_output_ = std::move(node.status);
    } else if (node.status) {
        add_result(std::move(*node.status));
    }
}

void PytestScanner::begin_test(const PytestNode& node) {
    last_result_ = offset_ + node.node.size();
    const size_t known = record_->cases.size();
    current_ = find_or_add(node.node);
    if (!node.shorter.empty() && record_->cases.size() > known)
        shorter_.push_back({*current_, node.shorter.size(), offset_});
    has_progress_ = has_progress_ || node.has_progress;
    verbose_ = true;
    may_be_open_ = !node.shorter.empty();
}

// The outcome of a test whose own output had broken its line, or was itself such a word.
bool PytestScanner::take_outcome(std::string_view line) {
    const std::string_view text = trimmed(line);
    constexpr std::string_view kFirstLetters = "PFESX";
    const bool may_be = !text.empty() && kFirstLetters.find(text[0]) != std::string_view::npos;
    if (auto status = may_be ? pytest_status_of(text) : std::nullopt) {
        pending_.clear();
        tests_print_ = true;
        may_be_open_ = false;
        after_output_.reset();
        before_output_.reset();
        unsay_result();
        add_result(std::move(*status));
        return true;
    }
    if (said_[*current_].any || text.empty()) return false;
    if (after_output_) before_output_ = std::move(after_output_);
    after_output_ = pytest_status_at_end(text);
    if (after_output_) return false;
    if (auto glued = may_be ? pytest_status_at_start(text) : std::nullopt)
        before_output_ = std::move(glued);
    else if (!before_output_)
        before_output_ = pytest_status_within(text);
    return false;
}

void PytestScanner::add_result(PytestStatus status) {
    ++by_lines_[static_cast<size_t>(status.state)];
    add_status(*current_, status.state, std::move(status.reason), status.duration_s);
}

void PytestScanner::unsay_result() {
    Said& said = said_[*current_];
    if (said.any) --by_lines_[static_cast<size_t>(record_->cases[*current_].state)];
    said = {};
}

// The test that was running has another end than those lines: they are tests' own.
void PytestScanner::add_pending() {
    for (Pending& pending : std::exchange(pending_, {})) {
        auto node = pytest_node_of(pending.line);
        begin_test(*node);
        last_result_ = pending.offset + node->node.size();
        add_result(std::move(*node->status));
    }
}

std::int64_t PytestScanner::due_sections() const {
    return printed()[static_cast<size_t>(State::failed)] +
           printed()[static_cast<size_t>(State::errored)];
}

void PytestScanner::settle_after_output() {
    std::optional<PytestStatus>& outcome = after_output_ ? after_output_ : before_output_;
    if (outcome && current_ && !said_[*current_].any) {
        pending_.clear();
        tests_print_ = true;
        add_result(std::move(*outcome));
    }
    after_output_.reset();
    before_output_.reset();
}

// Of lines of tests and characters a session has one kind: the other its tests printed.
void PytestScanner::choose_results(const std::optional<Closing>& closing) {
    if (one_module()) return;
    if (verbose_ && lines_are_printed(closing)) forget_cases();
    if (!verbose_) return;
    forget_characters();
    add_announced();
    join_lost();
    if (tests_print_) shorten_names();
}

bool PytestScanner::lines_are_printed(const std::optional<Closing>& closing) const {
    if (said_verbose_ == true || !in_order_) return false;
    const bool lines = closing && agree(*closing, by_lines_);
    const bool characters = closing && agree(*closing, by_characters_);
    // A plugin may have made it verbose later; not captured, lines have no progress.
    if (said_verbose_ == false) return !(lines && has_progress_);
    if (lines != characters) return characters;
    if (lines) return own_start_ == kNone;  // of -q
    const auto sum = [](const Counts& counts) {
        return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    };
    return sum(by_characters_) > sum(by_lines_);
}

// Where tests print, what stands behind a name is taken for what they printed, unless the summary
// has it in the name.
void PytestScanner::shorten_names() {
    std::vector<std::string_view> said;
    for (const Summary& summary : summaries_) said.emplace_back(summary.text);
    std::sort(said.begin(), said.end());
    std::erase_if(shorter_, [&](const Shorter& of) {
        const std::string& name = record_->cases[of.i].name;
        const auto at = std::lower_bound(said.begin(), said.end(), name);
        return at != said.end() && at->starts_with(name);
    });
    std::unordered_map<std::string, size_t> times;
    const auto shorter = [&](const Shorter& of) {
        return record_->cases[of.i].name.substr(0, of.size);
    };
    for (const Shorter& of : shorter_) ++times[shorter(of)];
    for (const Shorter& of : shorter_) {
        std::string name = shorter(of);
        const auto is_it = [&](std::uint32_t at) { return record_->cases[at].name == name; };
        // No two tests have one name.
        if (times[name] > 1 || by_node_.find(NameIndex::hash_of(name), is_it)) continue;
        CaseRecord& c = record_->cases[of.i];
        c.id.resize(c.id.size() - (c.name.size() - name.size()));
        c.name = std::move(name);
        make_known(of.i);
        diagnose_->add(of.offset, "what stands behind it may be of the name of " + c.name);
    }
}

// Gives each test that has lost its outcome that of the test that follows, which is none.
void PytestScanner::join_lost() {
    std::erase_if(lost_, [&](const Lost& lost) { return said_[lost.i].any; });
    const auto tests = static_cast<std::int64_t>(record_->cases.size());
    if (lost_.empty() || !selected_ ||
        tests - *selected_ != static_cast<std::int64_t>(lost_.size()))
        return;
    std::vector<CaseRecord> cases = std::move(record_->cases);
    std::vector<Said> said = std::move(said_);
    std::vector<bool> is_output(cases.size());
    for (const Lost& lost : lost_) {
        said[lost.i] = said[lost.next];
        cases[lost.i].state = cases[lost.next].state;
        cases[lost.i].reason = std::move(cases[lost.next].reason);
        cases[lost.i].duration_s = cases[lost.next].duration_s;
        is_output[lost.next] = true;
    }
    std::vector<Shorter> shorter = std::move(shorter_);
    forget_cases();
    verbose_ = true;
    std::vector<size_t> places(cases.size());
    for (size_t i = 0; i < cases.size(); ++i) {
        if (is_output[i]) continue;
        places[i] = record_->cases.size();
        record_->cases.push_back(std::move(cases[i]));
        make_known(place_case());
        said_.back() = said[i];
    }
    for (const Shorter& of : shorter)
        if (!is_output[of.i]) shorter_.push_back({places[of.i], of.size, of.offset});
}

// What a worker begins stands alone in its line, or in front of what another prints: its outcome
// names it, if it came to one.
void PytestScanner::add_announced() {
    const auto is_known = [&](std::string_view name) {
        return by_node_.find(NameIndex::hash_of(name), [&](std::uint32_t at) {
            return record_->cases[at].name == name;
        }) != nullptr;
    };
    constexpr int kMostTries = 16;
    for (const std::string& name : announced_) {
        bool known = is_known(name);
        size_t blank = name.find(' ');
        for (int i = 0; i < kMostTries && !known && blank != std::string::npos; ++i) {
            known = is_known(std::string_view(name).substr(0, blank));
            blank = name.find(' ', blank + 1);
        }
        if (!known) find_or_add(name);
    }
}

void PytestScanner::take_characters(const PytestCharacters& found) {
    const bool goes_on = found.file.empty() && !characters_.empty();
    if (!goes_on && (characters_.empty() || characters_.back().file != found.file))
        characters_.push_back({valid_utf8(found.file), {}});
    is_pytest_ = is_pytest_ || found.has_progress;
    all_ran_ = found.is_last;
    subtests_ = subtests_ || found.characters.find('u') != std::string_view::npos;
    for (const char c : found.characters)
        if (const auto state = pytest_state_of(c)) {
            ++by_characters_[static_cast<size_t>(*state)];
            ++since_passed_over_[static_cast<size_t>(*state)];
            ++characters_.back().counts[static_cast<size_t>(*state)];
            if (*state == State::errored) before_errors_.push_back(last_character_);
            last_character_ = *state;
        }
}

}  // namespace compat::parsers
