// The tests of a session of pytest's that only characters and totals speak of.
#include <fmt/format.h>

#include <algorithm>

#include "parsers/import/foreign.h"
#include "parsers/pytest_scanner.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

namespace {

constexpr std::array<State, 6> kCounted{State::passed,  State::failed,  State::errored,
                                        State::skipped, State::xfailed, State::xpassed};
// The words of the closing for them.
constexpr std::array<std::string_view, 6> kCountedWords{"passed",  "failed",  "errors",
                                                        "skipped", "xfailed", "xpassed"};
// Of tests without a name: more are no result of any session.
constexpr std::int64_t kMostUnnamed = Unnamed::kMost;

size_t number(State state) { return static_cast<size_t>(state); }

// What the session's closing counts for a case, by state.
void tally(const CaseRecord& c, std::array<std::int64_t, kStateNames.size()>& counts) {
    const State own = c.call_state.value_or(c.state);
    bool own_counted = false;
    const auto count = [&](const Failure& failure) {
        const State state = failure.counted.value_or(State::failed);
        ++counts[number(state)];
        const bool is_excuse = state == State::xfailed && failure.phase == Phase::teardown;
        own_counted = own_counted || (state == own && !is_excuse);
    };
    if (c.failure) count(*c.failure);
    for (const Failure& more : c.also) count(more);
    if (!own_counted) ++counts[number(own)];
    for (const SubCase& sub : c.subcases) ++counts[number(sub.state)];
}

}  // namespace

// What a test's call had come to whose tear-down broke, where nothing but the characters tells.
void PytestScanner::settle_teardowns() {
    if (verbose_ || !in_order_ || before_errors_.size() != errors_.size()) return;
    for (size_t k = 0; k < errors_.size(); ++k) {
        CaseRecord& c = record_->cases[errors_[k]];
        const bool assumed = c.phase == Phase::teardown && !said_[errors_[k]].errored_later;
        if (assumed && c.call_state == State::passed && before_errors_[k] != State::errored &&
            before_errors_[k] != State::failed)
            c.call_state = before_errors_[k];
    }
}

void PytestScanner::doubt(size_t offset, std::string_view why) {
    doubts_.push_back(
        {"log", static_cast<std::int64_t>(offset), fmt::format("{}{}", kTotalsDiffer, why)});
}

// Whether the set-up or the tear-down of a test broke is told by none but its section.
bool is_untold(const CaseRecord& c) {
    return c.state == State::errored && !c.pseudo && !c.call_state && c.failure &&
           c.failure->traceback.empty();
}

// Of -q: whether each E whose test no section tells of is of a set-up, for no test that another
// name has stands before it.
bool PytestScanner::phases_are_told() const {
    const auto untold = std::count_if(record_->cases.begin(), record_->cases.end(), is_untold);
    const auto names = [&](State state) {
        return std::any_of(summaries_.begin(), summaries_.end(),
                           [&](const Summary& s) { return s.state == state; });
    };
    const auto is_open = [&](State before) {
        return before == State::skipped ||
               (before != State::errored && before != State::failed && !names(before));
    };
    return untold == 0 || (!before_errors_.empty() &&
                           std::none_of(before_errors_.begin(), before_errors_.end(), is_open));
}

// More than were collected: what the calls came to of tests whose broken tear-downs alone are told
// of, and tear-downs that broke as was expected and are counted as `xfailed`.
void PytestScanner::settle_by_collected(Counts& left) {
    if (!selected_) {
        if (!phases_are_told())
            doubt(offset_,
                  "some errors may be of set-ups or of tear-downs of tests that are "
                  "counted beside: nothing tells");
        return;
    }
    std::int64_t more = -*selected_ - skipped_modules_;
    for (const CaseRecord& c : record_->cases) more += !c.pseudo;
    for (const State state : kCounted) more += left[number(state)];
    if (more <= 0) return;
    std::vector<CaseRecord*> untold;
    for (CaseRecord& c : record_->cases)
        if (is_untold(c)) untold.push_back(&c);
    const auto calls = static_cast<std::int64_t>(untold.size());
    std::int64_t& excused = left[number(State::xfailed)];
    if (calls > 0 && (more < calls || excused > 0))
        doubt(offset_, fmt::format("{} tests more than were collected: nothing tells whose "
                                   "tear-downs broke",
                                   more));
    for (CaseRecord* const c : untold) {
        constexpr std::array kCalls{State::passed, State::skipped, State::xpassed, State::xfailed};
        const auto call = std::find_if(kCalls.begin(), kCalls.end(),
                                       [&](State state) { return left[number(state)] > 0; });
        if (more == 0 || call == kCalls.end()) break;
        c->call_state = *call;
        c->phase = Phase::teardown;
        --left[number(*call)];
        --more;
    }
    // What else is too much may be of sub-tests.
    const bool of_subtests =
        subtests_ || std::any_of(record_->cases.begin(), record_->cases.end(),
                                 [](const CaseRecord& c) { return !c.subcases.empty(); });
    if (of_subtests || more > excused) return;
    excused_ = more;
    excused -= excused_;
}

// The tests that only characters and totals speak of.
void PytestScanner::add_unnamed(const std::optional<Closing>& closing) {
    Counts left{};  // that are without a name
    if (closing) {
        for (size_t n = 0; n < kCounted.size(); ++n)
            for (const auto& [word, count] : closing->counts)
                if (word == kCountedWords[n])
                    left[number(kCounted[n])] += std::min(count, kMostUnnamed);
    } else {
        for (const Characters& file : characters_)
            for (const State state : kCounted) left[number(state)] += file.counts[number(state)];
    }
    Counts named{};
    std::unordered_map<std::string_view, Counts> by_file;
    for (const CaseRecord& c : record_->cases) {
        tally(c, named);
        tally(c, by_file[module_of(c)]);
    }
    // More passed by their names than the closing says: skipped after a sub-test had failed.
    for (size_t i = 0; closing && i < record_->cases.size(); ++i) {
        CaseRecord& c = record_->cases[i];
        if (named[number(State::passed)] <= left[number(State::passed)]) break;
        if (!said_[i].assumed) continue;
        c.call_state = State::skipped;
        --named[number(State::passed)];
        ++named[number(State::skipped)];
        --by_file[module_of(c)][number(State::passed)];
        ++by_file[module_of(c)][number(State::skipped)];
    }
    for (const State state : kCounted)
        left[number(state)] = std::max<std::int64_t>(left[number(state)] - named[number(state)], 0);
    if (!verbose_) settle_by_collected(left);
    std::unordered_map<std::string, Counts> of_files;
    for (const auto& [path, counts] : by_file) of_files.emplace(std::string(path), counts);
    // Skipped tests have their reasons in the summary, by place.
    for (const Summary& summary : summaries_) {
        std::int64_t& skipped = left[number(State::skipped)];
        if (summary.count == 0 || verbose_) continue;
        const std::int64_t count = std::min(summary.count, skipped);
        const size_t colon = summary.text.find(": ");
        const std::string_view place = std::string_view(summary.text).substr(0, colon);
        const std::string path = valid_utf8(place.substr(0, place.find(':')));
        add_unnamed(path, State::skipped, count,
                    colon == std::string::npos ? std::string()
                                               : valid_utf8(summary.text.substr(colon + 2)));
        of_files[path][number(State::skipped)] += count;
        skipped -= count;
    }
    for (const Characters& file : characters_)
        for (const State state : kCounted) {
            std::int64_t& rest = left[number(state)];
            std::int64_t& had = of_files[file.file][number(state)];
            const std::int64_t used =
                file.file.empty() ? 0 : std::min(had, file.counts[number(state)]);
            const std::int64_t count = std::min(file.counts[number(state)] - used, rest);
            had -= used;
            add_unnamed(file.file.empty() ? fallback_ : file.file, state, count, {});
            rest -= count;
        }
    std::int64_t unexplained = 0;
    std::int64_t lost = 0;
    const bool subtests =
        closing && std::any_of(closing->counts.begin(), closing->counts.end(),
                               [](const auto& had) { return had.first == "subtests passed"; });
    for (const State state : kCounted) {
        // Verbose, each has its line: one that is missing shows in the totals. Skips may be of
        // modules or sub-tests all the same.
        if (verbose_ && state != State::skipped) {
            lost += left[number(state)];
            continue;
        }
        if (state == State::skipped && (subtests || (verbose_ && in_order_))) {
            const std::int64_t kept = std::min(left[number(state)], skipped_modules_);
            if (!subtests) lost += left[number(state)] - kept;
            left[number(state)] = kept;
        }
        if (state == State::failed && subtests_)
            left[number(state)] -= add_unnamed_subtests(left[number(state)]);
        unexplained += left[number(state)];
        add_unnamed(fallback_, state, left[number(state)], {});
    }
    if (unexplained > 0 && !characters_.empty())
        diagnose_->add(offset_, fmt::format("{} tests are in the closing alone", unexplained));
    std::int64_t tests = std::count_if(record_->cases.begin(), record_->cases.end(),
                                       [](const CaseRecord& c) { return !c.pseudo; });
    // Modules that were skipped as a whole are among what is skipped, and were not collected. Where
    // no test ran, they are all of it.
    const bool none_ran =
        std::all_of(record_->cases.begin(), record_->cases.end(), [](const CaseRecord& c) {
            return c.pseudo || c.state == State::skipped || c.state == State::not_run;
        });
    for (size_t i = record_->cases.size();
         i-- > 0 && (none_ran || (selected_ && tests > *selected_));) {
        CaseRecord& c = record_->cases[i];
        if (c.state != State::skipped || !c.name.starts_with("<unnamed ")) continue;
        c.pseudo = true;
        c.started = false;
        c.phase = Phase::load;
        --tests;
    }
    // The test that was running, at least.
    if (!selected_ && died() && !closing && !verbose_ && in_order_ && !all_ran_)
        add_missing(1, 0, false);
    if (!selected_) {
        if (closing && !stopped_.empty() && !all_ran_ && internal_error_.empty()) add_stop();
        return;
    }
    const std::int64_t missing = *selected_ - tests;
    if (missing > 0) add_missing(missing, lost, closing.has_value());
}

// Of `failed` in the closing that no test is left for: sub-tests of one that failed, without a
// name. How many.
std::int64_t PytestScanner::add_unnamed_subtests(std::int64_t failed) {
    std::vector<CaseRecord>& cases = record_->cases;
    std::int64_t tests = 0;
    size_t parent = cases.size();
    for (size_t i = 0; i < cases.size(); ++i) {
        tests += !cases[i].pseudo;
        if (cases[i].state != State::failed || !cases[i].subcases.empty()) continue;
        if (parent == cases.size() || !cases[i].failure) parent = i;
    }
    const std::int64_t room = selected_ ? *selected_ + skipped_modules_ - tests : 0;
    const std::int64_t beyond = failed - std::clamp<std::int64_t>(room, 0, failed);
    if (parent == cases.size()) return 0;
    for (std::int64_t n = 1; n <= beyond; ++n)
        cases[parent].subcases.push_back({fmt::format("<unnamed {}>", n), State::failed, {}, {}});
    return beyond;
}

// Rows for the tests that were collected and of which nothing else is said. Of `counted` of them
// the closing gives an outcome: their lines are lost.
void PytestScanner::add_missing(std::int64_t missing, std::int64_t counted, bool closed) {
    const size_t first = record_->cases.size();
    if (closed) {
        const std::int64_t lost = std::min(missing, counted);
        add_unnamed(fallback_, State::not_run, lost, "the log has no line of it");
        missing -= lost;
    }
    // With a line of its own, the test that was running is known.
    const bool in_test = died() && !verbose_ && in_order_;
    const std::string& running = characters_.empty() ? fallback_ : characters_.back().file;
    if (in_test) {
        add_unnamed(running.empty() ? fallback_ : running, State::not_run, 1, {});
        --missing;
    }
    add_unnamed(fallback_, State::not_run, missing,
                !stopped_.empty() ? stopped_
                : closed          ? "the session stopped before it ran"
                : died()          ? ""
                                  : "the log breaks off");
    for (size_t i = first; i < record_->cases.size(); ++i) {
        const bool ran = in_test && i == first;
        record_->cases[i].started = ran;
        if (died()) progress_[i] = ran ? Progress::started : Progress::announced;
    }
}

// A row for the tests that a session which stopped early did not run, where it does not say how
// many it had collected.
void PytestScanner::add_stop() {
    add_unnamed(fallback_, State::not_run, 1,
                stopped_ + "; the log does not say how many tests were left");
    CaseRecord& c = record_->cases.back();
    c.id = fallback_ + "::<session>";
    c.name = "<session>";
    c.pseudo = true;
    c.started = false;
    c.phase = Phase::load;
}

void PytestScanner::add_unnamed(std::string_view path, State state, std::int64_t count,
                                std::string reason) {
    for (std::int64_t i = 0; i < count && unnamed_in_all_ < kMostUnnamed; ++i, ++unnamed_in_all_) {
        CaseRecord& c = record_->cases.emplace_back();
        c.name = fmt::format("<unnamed {}>", ++unnamed_);
        c.id = fmt::format("{}::{}", path, c.name);
        c.state = state;
        c.reason = reason;
        c.started = true;
        const size_t placed = place_case();
        said_[placed].any = true;
        progress_[placed] = Progress::ended;
        // Which of them it was does not show.
        const bool may_be = state == State::xfailed || state == State::xpassed;
        for (; may_be && excused_ > 0; --excused_) excuse(placed);
    }
}

}  // namespace compat::parsers
