// The tests of a session of pytest's: from what its lines were found to say to cases with one state
// each. The walk over the lines: pytest_scanner.cc.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "parsers/foreign.h"
#include "parsers/pytest_failure.h"
#include "parsers/pytest_scanner.h"
#include "parsers/traceback.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

namespace {

// The words with which a section's heading says where a test broke.
struct HeadingWord {
    std::string_view prefix;
    Phase phase;
};
constexpr std::array<HeadingWord, 3> kHeadings{{
    {"ERROR at setup of ", Phase::setup},
    {"ERROR at teardown of ", Phase::teardown},
    {"ERROR collecting ", Phase::load},
}};

// Of a heading that is a sub-test's: each of its blanks is looked at.
constexpr size_t kLongest = 2000;

constexpr std::string_view kCrashed = "' crashed while running '";
constexpr std::array<State, 6> kCounted{State::passed,  State::failed,  State::errored,
                                        State::skipped, State::xfailed, State::xpassed};
// The words of the closing for them.
constexpr std::array<std::string_view, 6> kWords{"passed",  "failed",  "errors",
                                                 "skipped", "xfailed", "xpassed"};
// Of tests without a name: more are no result of any session.
constexpr std::int64_t kMostUnnamed = Unnamed::kMost;

size_t number(State state) { return static_cast<size_t>(state); }

// "A::test_x[p::q]" as a section's heading has it: "A.test_x[p::q]".
std::string heading_of(std::string_view tail) {
    const size_t bracket = std::min(tail.find('['), tail.size());
    std::string out;
    for (size_t i = 0; i < tail.size(); ++i) {
        if (i + 1 < bracket && tail[i] == ':' && tail[i + 1] == ':') {
            out += '.';
            ++i;
        } else {
            out += tail[i];
        }
    }
    return out;
}

// "[gw0] linux -- Python 3.11.7 /python" of pytest-xdist, in front of each section's text.
std::string_view without_worker(std::string_view body) {
    if (!body.starts_with("[gw")) return body;
    const size_t end = body.find('\n');
    const std::string_view line = body.substr(0, end);
    if (line.find(" -- Python ") == std::string_view::npos) return body;
    return end == std::string_view::npos ? std::string_view() : body.substr(end + 1);
}

void keep(CaseRecord& c, Failure failure) {
    if (!c.failure) {
        c.failure = std::move(failure);
        return;
    }
    // ERRORS are printed before FAILURES: what failed in the call decides all the same.
    if (failure.phase == Phase::call && c.failure->phase != Phase::call)
        std::swap(*c.failure, failure);
    c.also.push_back(std::move(failure));
}

// What the session's closing counts for a case, by state.
void tally(const CaseRecord& c, std::array<std::int64_t, kStateNames.size()>& counts) {
    const State own = c.call_state.value_or(c.state);
    bool own_counted = false;
    const auto count = [&](const Failure& failure) {
        const State state = failure.counted.value_or(State::failed);
        ++counts[number(state)];
        own_counted = own_counted || state == own;
    };
    if (c.failure) count(*c.failure);
    for (const Failure& more : c.also) count(more);
    if (!own_counted) ++counts[number(own)];
    for (const SubCase& sub : c.subcases) ++counts[number(sub.state)];
}

bool has_failure(const CaseRecord& c, State counted) {
    const auto is_it = [&](const Failure& f) { return f.counted == counted; };
    return (c.failure && is_it(*c.failure)) || std::any_of(c.also.begin(), c.also.end(), is_it);
}

// "AssertionError: 1 != 2" of the summary: all there is where no section tells more.
Failure summarised(std::string_view why, State counted) {
    Failure failure;
    failure.counted = counted;
    failure.phase = counted == State::failed ? Phase::call : Phase::setup;
    const size_t colon = why.find(": ");
    const bool typed = colon != std::string_view::npos &&
                       why.substr(0, colon).find_first_of(" [(") == std::string_view::npos;
    if (typed) failure.type = valid_utf8(why.substr(0, colon));
    failure.message = valid_utf8(typed ? why.substr(colon + 2) : why);
    return failure;
}

}  // namespace

// Gives the last case an id of its own.
size_t PytestScanner::place_case() {
    std::vector<CaseRecord>& cases = record_->cases;
    CaseRecord& c = cases.back();
    const auto has_id = [&](std::uint32_t at) { return cases[at].id == c.id; };
    std::uint32_t hash = NameIndex::hash_of(c.id);
    // The same tail may come from another file.
    if (const std::uint32_t* const first = by_id_.find(hash, has_id)) {
        const size_t repeated = *first;
        const std::string plain = c.id;
        do {
            c.id = fmt::format("{}#{}", plain, ++repeats_[repeated]);
            hash = NameIndex::hash_of(c.id);
        } while (by_id_.find(hash, has_id));
    }
    const size_t i = cases.size() - 1;
    by_id_.add(hash, static_cast<std::uint32_t>(i));
    repeats_.push_back(1);
    said_.emplace_back();
    progress_.push_back(Progress::started);
    return i;
}

size_t PytestScanner::module_case(std::string_view path) {
    const auto [at, is_new] = modules_.emplace(valid_utf8(path), 0);
    if (!is_new) return at->second;
    CaseRecord& c = record_->cases.emplace_back();
    c.id = at->first + "::<module>";
    c.name = at->first;
    c.pseudo = true;
    c.phase = Phase::load;
    return at->second = place_case();
}

size_t PytestScanner::find_or_add(std::string_view node) {
    std::string name = valid_utf8(node);
    const std::uint32_t hash = NameIndex::hash_of(name);
    const auto is_it = [&](std::uint32_t at) { return record_->cases[at].name == name; };
    if (const std::uint32_t* const known = by_node_.find(hash, is_it)) return *known;
    const std::string_view tail = std::string_view(name).substr(name.find("::") + 2);
    CaseRecord& c = record_->cases.emplace_back();
    c.id = one_module() ? fmt::format("{}::{}", record_->path, tail) : name;
    c.started = true;
    const std::string heading = heading_of(tail);
    c.name = std::move(name);
    const size_t i = place_case();
    by_node_.add(hash, static_cast<std::uint32_t>(i));
    by_heading_[heading].cases.push_back(static_cast<std::uint32_t>(i));
    return i;
}

void PytestScanner::add_status(size_t i, State state, std::string reason, double duration_s) {
    CaseRecord& c = record_->cases[i];
    Said& said = said_[i];
    c.duration_s += duration_s;
    if (!said.any) {
        said.any = true;
        c.state = state;
        c.reason = std::move(reason);
    } else if (state == State::errored) {
        said.errored_later = true;
    } else if (c.state == State::errored && !c.pseudo) {
        // A summary may name what broke after the call before the call itself.
        said.errored_later = true;
        c.state = state;
        c.reason = std::move(reason);
    }
}

// Of tests without a line of their own the summary says how those that it names ended.
void PytestScanner::add_summaries() {
    if (one_module()) return;
    for (const Summary& summary : summaries_) {
        if (summary.count > 0) continue;
        // Verbose, it is needed for what broke and whose line is lost or has no outcome.
        const bool broken = summary.state == State::failed || summary.state == State::errored;
        if (verbose_ && (!broken || summary.of_subtest)) continue;
        const PytestSaid said = split_summary(summary.text);
        if (said.node.find("::") == std::string_view::npos) continue;
        const size_t i = find_or_add(said.node);
        if (summary.of_subtest || (verbose_ && said_[i].any)) continue;
        const bool gives_reason =
            summary.state == State::xfailed || summary.state == State::xpassed;
        add_status(i, summary.state, gives_reason ? valid_utf8(said.why) : std::string(), 0);
    }
}

// "FAILED test_a.py::A::test_x - Failed: Unexpected success": the type of a failure that its own
// section does not name.
void PytestScanner::name_types() {
    for (const Summary& summary : summaries_) {
        if (summary.state != State::failed || summary.of_subtest) continue;
        const PytestSaid said = split_summary(summary.text);
        const std::string node = valid_utf8(said.node);
        const std::uint32_t* const i =
            by_node_.find(NameIndex::hash_of(node),
                          [&](std::uint32_t at) { return record_->cases[at].name == node; });
        if (!i) continue;
        std::optional<Failure>& failure = record_->cases[*i].failure;
        const size_t colon = said.why.find(": ");
        if (!failure || !failure->type.empty() || colon == std::string_view::npos) continue;
        if (failure->message.starts_with(said.why.substr(colon + 2)))
            failure->type = valid_utf8(said.why.substr(0, colon));
    }
}

// Failures and sub-tests that no section tells of.
void PytestScanner::add_summarised() {
    std::set<std::pair<size_t, std::string>> told;
    for (size_t i = 0; i < record_->cases.size(); ++i)
        for (const SubCase& sub : record_->cases[i].subcases) told.emplace(i, sub.label);
    for (const Summary& summary : summaries_) {
        const bool broken = summary.state == State::failed || summary.state == State::errored;
        if (!broken) continue;
        const PytestSaid said = split_summary(summary.text);
        const bool of_test = said.node.find("::") != std::string_view::npos;
        if (!of_test && summary.state == State::failed) continue;
        const size_t i = of_test ? find_or_add(said.node) : module_case(said.node);
        CaseRecord& c = record_->cases[i];
        if (summary.of_subtest) {
            const std::string label = valid_utf8(summary.label);
            if (told.emplace(i, label).second) c.subcases.push_back({label, State::failed, {}, {}});
        } else if (!has_failure(c, summary.state)) {
            if (!of_test) add_status(i, State::errored, {}, 0);
            keep(c, summarised(said.why, summary.state));
        }
    }
}

std::optional<size_t> PytestScanner::case_headed(std::string_view heading, Phase phase) {
    const auto it = by_heading_.find(std::string(heading));
    if (it == by_heading_.end()) return std::nullopt;
    Headed& headed = it->second;
    size_t& next = phase == Phase::call ? headed.next_failed : headed.next_errored;
    const auto fits = [&](size_t i) {
        const CaseRecord& c = record_->cases[i];
        return phase == Phase::call ? c.state == State::failed
                                    : c.state == State::errored || said_[i].errored_later;
    };
    while (next < headed.cases.size() && !fits(headed.cases[next])) ++next;
    if (next < headed.cases.size()) return headed.cases[next++];
    return headed.cases.back();
}

void PytestScanner::add_section(const Section& section) {
    std::string_view heading = section.heading;
    Phase phase = Phase::call;
    for (const HeadingWord& known : kHeadings)
        if (heading.starts_with(known.prefix)) {
            phase = known.phase;
            heading.remove_prefix(known.prefix.size());
            break;
        }
    std::string plain;
    std::string_view body =
        unwrapped(log_.text.substr(section.body, section.end - section.body), plain);
    body = without_worker(body.substr(0, body.find_last_not_of('\n') + 1));
    if (phase == Phase::call && body.find(kCrashed) != std::string_view::npos)
        return add_crash(section, body);
    Failure failure = parse_pytest_failure(body, root_);
    failure.phase = phase;
    failure.counted = phase == Phase::call ? State::failed : State::errored;
    if (phase == Phase::load) {
        const size_t i = module_case(one_module() ? record_->path : heading);
        add_status(i, State::errored, {}, 0);
        keep(record_->cases[i], std::move(failure));
        return;
    }
    std::optional<size_t> i = case_headed(heading, phase);
    // A sub-test: its test's name, a blank, its label.
    std::string_view label;
    for (size_t blank = heading.size() > kLongest ? std::string_view::npos : heading.find(' ');
         !i && blank != std::string_view::npos; blank = heading.find(' ', blank + 1)) {
        const auto it = by_heading_.find(std::string(heading.substr(0, blank)));
        if (it == by_heading_.end()) continue;
        i = it->second.cases.back();
        label = heading.substr(blank + 1);
    }
    if (!i && one_module()) {
        diagnose_->add(section.offset, "a failure of no known test: " + valid_utf8(heading));
        return;
    }
    if (!i) {
        const size_t labelled = subtest_label(heading);
        label = trimmed(heading.substr(labelled));
        heading = heading.substr(0, labelled);
        // Nothing else names it: its file is the one that its first line of source is in.
        std::string path = fallback_;
        if (!failure.frames.empty()) path = failure.frames.front().file;
        if (!root_.empty() && path.starts_with(root_ + "/")) path.erase(0, root_.size() + 1);
        std::string tail;
        for (const char c : heading.substr(0, heading.find('['))) {
            if (c == '.')
                tail += "::";
            else
                tail += c;
        }
        tail += heading.substr(std::min(heading.find('['), heading.size()));
        i = find_or_add(fmt::format("{}::{}", path, tail));
    }
    // Of a test without any other word its section alone tells.
    const bool untold = !said_[*i].any || (phase == Phase::call && !verbose_ &&
                                           record_->cases[*i].state == State::errored);
    if (label.empty() && untold) add_status(*i, *failure.counted, {}, 0);
    if (phase != Phase::call) errors_.push_back(*i);
    if (!label.empty())
        record_->cases[*i].subcases.push_back(
            {valid_utf8(label), State::failed, {}, std::move(failure)});
    else
        keep(record_->cases[*i], std::move(failure));
}

// "worker 'gw1' crashed while running 'tests/test_a.py::test_x'" of pytest-xdist.
void PytestScanner::add_crash(const Section& section, std::string_view body) {
    const size_t begin = body.find(kCrashed) + kCrashed.size();
    const size_t end = body.find('\'', begin);
    const std::string_view node = body.substr(begin, end - begin);
    if (end == std::string_view::npos || node.find("::") == std::string_view::npos) {
        diagnose_->add(section.offset, "a crash of no known test: " + valid_utf8(section.heading));
        return;
    }
    CaseRecord& c = record_->cases[find_or_add(node)];
    Failure failure;
    failure.message = valid_utf8(trimmed(body.substr(0, body.find('\n'))));
    failure.traceback = valid_utf8(body);
    failure.counted = State::failed;
    c.reason = failure.message;
    c.state = State::crashed;
    said_[static_cast<size_t>(&c - record_->cases.data())].any = true;
    keep(c, std::move(failure));
}

// pytest itself broke.
void PytestScanner::add_internal_error() {
    const std::string& path = one_module() ? record_->path : fallback_;
    CaseRecord& c = record_->cases.emplace_back();
    c.id = path + "::<session>";
    c.name = "<session>";
    c.pseudo = true;
    c.phase = Phase::load;
    c.failure = parse_traceback(internal_error_);
    c.failure->phase = Phase::load;
    add_status(place_case(), State::errored, {}, 0);
    diagnose_->add(internal_offset_, "pytest broke: " + c.failure->first_line());
}

void PytestScanner::resolve(size_t i) {
    CaseRecord& c = record_->cases[i];
    Said& said = said_[i];
    // That it is only of sub-tests that something is said: its call went well.
    if (!said.any && !c.subcases.empty()) {
        said.any = true;
        c.state = State::passed;
    }
    if (!said.any) return;
    progress_[i] = Progress::ended;
    if (c.pseudo) {
        if (said.errored_later) c.state = State::errored;
    } else if (c.state == State::errored) {
        c.phase = Phase::setup;
        // Its call went well: nothing else is said of it.
        if (c.failure && c.failure->phase == Phase::teardown) {
            c.phase = Phase::teardown;
            c.call_state = State::passed;
        }
    } else if (said.errored_later && c.state != State::failed) {
        c.call_state = c.state;
        c.state = State::errored;
        c.phase = Phase::teardown;
    } else if (!c.subcases.empty() && c.state != State::failed) {
        c.call_state = c.state;
        c.state = State::failed;
    }
}

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

// The tests that only characters and totals speak of.
void PytestScanner::add_unnamed(const std::optional<Closing>& closing) {
    using Counts = std::array<std::int64_t, kStateNames.size()>;
    Counts left{};  // that are without a name
    if (closing) {
        for (size_t n = 0; n < kCounted.size(); ++n)
            for (const auto& [word, count] : closing->counts)
                if (word == kWords[n]) left[number(kCounted[n])] += std::min(count, kMostUnnamed);
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
    for (const State state : kCounted)
        left[number(state)] = std::max<std::int64_t>(left[number(state)] - named[number(state)], 0);
    // More than were collected: what the calls came to of tests whose broken tear-downs alone are
    // told of.
    if (selected_ && !verbose_) {
        std::int64_t more = -*selected_;
        for (const CaseRecord& c : record_->cases) more += !c.pseudo;
        for (const State state : kCounted) more += left[number(state)];
        more -= skipped_modules_;
        for (CaseRecord& c : record_->cases) {
            if (more <= 0) break;
            // No section tells of which phase it was.
            const bool untold = c.failure && c.failure->traceback.empty();
            if (c.state != State::errored || c.pseudo || !untold || c.call_state) continue;
            State call = State::passed;
            if (left[number(call)] == 0) call = State::skipped;
            if (left[number(call)] == 0) break;
            c.call_state = call;
            c.phase = Phase::teardown;
            --left[number(call)];
            --more;
        }
    }
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
    if (!selected_) return;
    std::int64_t tests = std::count_if(record_->cases.begin(), record_->cases.end(),
                                       [](const CaseRecord& c) { return !c.pseudo; });
    // Modules that were skipped as a whole are among what is skipped, and were not collected.
    for (size_t i = record_->cases.size(); i-- > 0 && tests > *selected_;) {
        CaseRecord& c = record_->cases[i];
        if (c.state != State::skipped || !c.name.starts_with("<unnamed ")) continue;
        c.pseudo = true;
        c.started = false;
        c.phase = Phase::load;
        --tests;
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
    const bool died = death_ && !verbose_ && in_order_;
    const std::string& running = characters_.empty() ? fallback_ : characters_.back().file;
    if (died) {
        add_unnamed(running.empty() ? fallback_ : running, State::not_run, 1, {});
        --missing;
    }
    add_unnamed(fallback_, State::not_run, missing,
                !stopped_.empty() ? stopped_
                : closed          ? "the session stopped before it ran"
                : death_          ? ""
                                  : "the log breaks off");
    for (size_t i = first; i < record_->cases.size(); ++i) {
        const bool ran = died && i == first;
        record_->cases[i].started = ran;
        if (death_) progress_[i] = ran ? Progress::started : Progress::announced;
    }
}

void PytestScanner::add_unnamed(std::string_view path, State state, std::int64_t count,
                                std::string reason) {
    for (std::int64_t i = 0; i < count && unnamed_ < kMostUnnamed; ++i) {
        CaseRecord& c = record_->cases.emplace_back();
        c.name = fmt::format("<unnamed {}>", ++unnamed_);
        c.id = fmt::format("{}::{}", path, c.name);
        c.state = state;
        c.reason = reason;
        c.started = true;
        const size_t placed = place_case();
        said_[placed].any = true;
        progress_[placed] = Progress::ended;
    }
}

}  // namespace compat::parsers
