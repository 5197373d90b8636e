// The tests of a session of pytest's: from what its lines were found to say to cases with one state
// each. The walk over the lines: pytest_scanner.cc.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "parsers/diagnosis/traceback.h"
#include "parsers/import/foreign.h"
#include "parsers/pytest_failure.h"
#include "parsers/pytest_scanner.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

namespace {

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
    c.name = std::move(name);
    const size_t i = place_case();
    make_known(i);
    return i;
}

// By its name and the heading that its sections have.
void PytestScanner::make_known(size_t i) {
    const std::string_view name = record_->cases[i].name;
    const auto place = static_cast<std::uint32_t>(i);
    by_node_.add(NameIndex::hash_of(name), place);
    by_heading_[heading_of(name.substr(name.find("::") + 2))].cases.push_back(place);
}

void PytestScanner::add_status(size_t i, State state, std::string reason, double duration_s) {
    CaseRecord& c = record_->cases[i];
    Said& said = said_[i];
    c.duration_s += duration_s;
    if (!said.any) {
        said.any = true;
        c.state = state;
        c.reason = std::move(reason);
    } else if (state == State::xfailed) {
        said.excused = true;
    } else if (state == State::xpassed && c.state == State::xfailed) {
        // A summary names what was expected to fail first.
        said.excused = true;
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

// A test with a line or a section of its own is known.
PytestSaid PytestScanner::said_in(const Summary& summary) {
    return split_summary(summary.state, summary.text, [&](std::string_view node) {
        const std::string name = valid_utf8(node);
        const auto is_it = [&](std::uint32_t at) { return record_->cases[at].name == name; };
        if (by_node_.find(NameIndex::hash_of(name), is_it)) return true;
        const size_t names = node.find("::");
        return names != std::string_view::npos &&
               headings_.contains(heading_of(node.substr(names + 2)));
    });
}

// Of tests without a line of their own the summary says how those that it names ended.
void PytestScanner::add_summaries() {
    headings_.clear();
    for (const Section& section : sections_) headings_.insert(section.heading);
    if (one_module() && verbose_) return;
    for (const Summary& summary : summaries_) {
        if (summary.count > 0) continue;
        // Verbose, it is needed for what broke and whose line is lost or has no outcome.
        const bool broken = summary.state == State::failed || summary.state == State::errored;
        if (verbose_ && (!broken || summary.of_subtest)) continue;
        const PytestSaid said = said_in(summary);
        if (said.node.find("::") == std::string_view::npos) continue;
        const size_t i = find_or_add(said.node);
        if (summary.of_subtest) continue;
        if (verbose_ && said_[i].any) {
            // A test that printed an outcome itself (-s).
            const State said_first = record_->cases[i].state;
            if (summary.state != State::failed || said_first == State::failed ||
                said_first == State::errored)
                continue;
            said_[i] = {};
        }
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
        const PytestSaid said = said_in(summary);
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
        const PytestSaid said = said_in(summary);
        const bool of_test = said.node.find("::") != std::string_view::npos;
        if (!of_test && summary.state == State::failed) continue;
        const size_t i = of_test ? find_or_add(said.node)
                                 : module_case(one_module() ? record_->path : said.node);
        CaseRecord& c = record_->cases[i];
        if (summary.of_subtest) {
            const std::string label = valid_utf8(summary.label);
            if (told.emplace(i, label).second) c.subcases.push_back({label, State::failed, {}, {}});
        } else if (!has_failure(c, summary.state)) {
            if (!of_test) add_status(i, State::errored, {}, 0);
            keep_failure(c, summarised(said.why, summary.state));
        }
    }
}

// pytest itself broke.
void PytestScanner::add_internal_error(size_t end) {
    const std::string& path = one_module() ? record_->path : fallback_;
    CaseRecord& c = record_->cases.emplace_back();
    c.id = path + "::<session>";
    c.name = "<session>";
    c.pseudo = true;
    c.phase = Phase::load;
    std::string plain;
    c.failure = conftest_
                    ? parse_pytest_failure(
                          unwrapped(log_.text.substr(*conftest_, end - *conftest_), plain), root_)
                    : parse_traceback(internal_error_);
    c.failure->phase = Phase::load;
    add_status(place_case(), State::errored, {}, 0);
    diagnose_->add(internal_offset_, "pytest broke: " + c.failure->first_line());
}

// Its tear-down broke, as was expected: pytest counts that beside what the call came to.
void PytestScanner::excuse(size_t i) {
    CaseRecord& c = record_->cases[i];
    if (c.state == State::passed || c.state == State::skipped) {
        c.call_state = c.state;
        c.state = State::xfailed;
        c.phase = Phase::teardown;
    }
    Failure failure;
    failure.message = "its tear-down broke, as expected";
    failure.phase = Phase::teardown;
    failure.counted = State::xfailed;
    keep_failure(c, std::move(failure));
}

void PytestScanner::resolve(size_t i) {
    CaseRecord& c = record_->cases[i];
    Said& said = said_[i];
    // That it is only of sub-tests that something is said: its call went well.
    if (!said.any && !c.subcases.empty()) {
        said.any = said.assumed = true;
        c.state = State::passed;
    }
    if (!said.any) return;
    progress_[i] = Progress::ended;
    if (said.excused) excuse(i);
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

}  // namespace compat::parsers
