// What stands under the headings behind a session's results: whose it is, and what it tells of the
// test. Tests print such headings themselves: each is held against the tests that broke.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "parsers/closing.h"
#include "parsers/pytest_failure.h"
#include "parsers/pytest_scanner.h"

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
// In front of a docstring's name.
constexpr std::string_view kDoctest = "[doctest] ";

// Of a heading that is a sub-test's: each of its blanks is looked at.
constexpr size_t kLongest = 2000;

constexpr std::string_view kCrashed = "' crashed while running '";

// "[gw0] linux -- Python 3.11.7 /python" of pytest-xdist, in front of each section's text.
std::string_view without_worker(std::string_view body) {
    if (!body.starts_with("[gw")) return body;
    const size_t end = body.find('\n');
    const std::string_view line = body.substr(0, end);
    if (line.find(" -- Python ") == std::string_view::npos) return body;
    return end == std::string_view::npos ? std::string_view() : body.substr(end + 1);
}

}  // namespace

void PytestScanner::add_sections(const std::optional<Closing>& closing) {
    std::vector<Owner> owners;
    owners.reserve(sections_.size());
    for (const Section& section : sections_) owners.push_back(owner_of(section));
    if (!one_module()) share_out(owners, closing);
    // What nobody owns a test has printed: it is part of the section in which it stands.
    size_t part = std::string_view::npos;
    for (size_t k = sections_.size(), end = 0; k-- > 0;) {
        Section& section = sections_[k];
        if (section.end != part) end = part = section.end;
        section.end = end;
        if (owners[k].kind != Owner::Kind::nobody) end = section.offset;
    }
    for (size_t k = 0; k < sections_.size(); ++k) add_section(sections_[k], owners[k]);
}

PytestScanner::Owner PytestScanner::owner_of(const Section& section) {
    Owner owner{.name = section.heading};
    for (const HeadingWord& known : kHeadings)
        if (owner.name.starts_with(known.prefix)) {
            owner.phase = known.phase;
            owner.name.remove_prefix(known.prefix.size());
            break;
        }
    if (owner.phase == Phase::load) {
        owner.kind = Owner::Kind::module;
        return owner;
    }
    if (owner.phase == Phase::call) {
        const std::string_view body =
            log_.text.substr(section.body, std::min(kLongest, section.end - section.body));
        const size_t crashed = body.find(kCrashed);
        if (crashed < body.find("\n__")) {
            const size_t begin = crashed + kCrashed.size();
            const std::string_view rest = body.substr(begin, body.find('\n', begin) - begin);
            const std::string_view node = rest.substr(0, rest.find('\''));
            if (node.size() < rest.size() && node.find("::") != std::string_view::npos) {
                owner.kind = Owner::Kind::crash;
                owner.test = find_or_add(node);
                return owner;
            }
        }
        if (owner.name.starts_with(kDoctest)) owner.name.remove_prefix(kDoctest.size());
    }
    if (const auto test = case_headed(owner.name, owner.phase)) {
        owner.kind = Owner::Kind::test;
        owner.test = *test;
        return owner;
    }
    // A sub-test: its test's name, a blank, its label.
    const bool looked_at = owner.phase == Phase::call && owner.name.size() <= kLongest;
    for (size_t blank = looked_at ? owner.name.find(' ') : std::string_view::npos;
         blank != std::string_view::npos; blank = owner.name.find(' ', blank + 1)) {
        const auto it = by_heading_.find(std::string(owner.name.substr(0, blank)));
        if (it == by_heading_.end()) continue;
        owner.kind = Owner::Kind::subtest;
        owner.test = it->second.cases.back();
        owner.label = owner.name.substr(blank + 1);
        return owner;
    }
    owner.kind = Owner::Kind::unknown_test;
    if (!one_module()) return owner;
    const auto it = by_heading_.find(std::string(owner.name));
    if (it != by_heading_.end() && !section.after_output) {
        owner.kind = Owner::Kind::test;
        owner.test = it->second.cases.back();
    } else {
        owner.kind = Owner::Kind::nobody;
        if (!section.after_output)
            diagnose_->add(section.offset,
                           "a failure of no known test: " + valid_utf8(section.heading));
    }
    return owner;
}

// The next test of that heading which broke there, or of which nothing is said.
std::optional<size_t> PytestScanner::case_headed(std::string_view heading, Phase phase) {
    const auto it = by_heading_.find(std::string(heading));
    if (it == by_heading_.end()) return std::nullopt;
    Headed& headed = it->second;
    size_t& next = phase == Phase::call ? headed.next_failed : headed.next_errored;
    const auto fits = [&](size_t i) {
        const State state = record_->cases[i].state;
        return !said_[i].any ||
               (phase == Phase::call ? state == State::failed
                                     : state == State::errored || said_[i].errored_later);
    };
    while (next < headed.cases.size() && !fits(headed.cases[next])) ++next;
    if (next == headed.cases.size()) return std::nullopt;
    return headed.cases[next++];
}

// Sections with a heading that is no known test's. Plugins give their items' any: these are in the
// order of the tests that failed and have none. Beyond them one is of a test that nothing else
// names, as many as the closing counts and are not known; the others tests have printed.
void PytestScanner::share_out(std::vector<Owner>& owners, const std::optional<Closing>& closing) {
    std::vector<bool> told(record_->cases.size());
    std::int64_t known_failed = 0;
    std::int64_t known_errors = 0;
    std::vector<size_t> unknown;
    for (size_t k = 0; k < owners.size(); ++k) {
        const Owner& owner = owners[k];
        known_failed += owner.kind == Owner::Kind::subtest;
        if (owner.kind == Owner::Kind::unknown_test || owner.kind == Owner::Kind::module)
            unknown.push_back(k);
        else if (owner.phase == Phase::call)
            told[owner.test] = true;
    }
    if (unknown.empty()) return;
    const auto subtests = std::count_if(summaries_.begin(), summaries_.end(),
                                        [](const Summary& s) { return s.of_subtest; });
    known_failed = std::max<std::int64_t>(known_failed, subtests);
    std::vector<size_t> untold;
    for (size_t i = 0; i < record_->cases.size(); ++i) {
        if (!said_[i].any) continue;
        const State state = record_->cases[i].state;
        known_failed += state == State::failed;
        known_errors += state == State::errored || said_[i].errored_later;
        if (state == State::failed && !told[i]) untold.push_back(i);
    }
    std::set<std::string_view> modules;
    for (const Summary& summary : summaries_)
        if (summary.state == State::errored && summary.text.find("::") == std::string::npos)
            modules.insert(said_in(summary).node);
    known_errors += static_cast<std::int64_t>(modules.size());
    // Those that name a line of source come first, then those that stand behind no output.
    const auto names_line = [&](size_t k) {
        const Section& section = sections_[k];
        const size_t end = k + 1 < sections_.size() ? sections_[k + 1].offset : section.end;
        const std::string_view body = log_.text.substr(section.body, end - section.body);
        return !parse_pytest_failure(body, root_).frames.empty();
    };
    const auto others = std::stable_partition(unknown.begin(), unknown.end(), names_line);
    std::stable_partition(others, unknown.end(),
                          [&](size_t k) { return !sections_[k].after_output; });
    const auto is_call = [&](size_t k) { return owners[k].phase == Phase::call; };
    const auto calls = std::count_if(unknown.begin(), unknown.end(), is_call);
    const auto sure = std::count_if(unknown.begin(), unknown.end(), [&](size_t k) {
        return is_call(k) && !sections_[k].after_output;
    });
    const auto missing = static_cast<std::int64_t>(untold.size());
    if (missing > 0 && (missing == calls || missing == sure)) {
        std::vector<size_t> taken;
        for (const size_t k : unknown)
            if (is_call(k) && static_cast<std::int64_t>(taken.size()) < missing) taken.push_back(k);
        std::sort(taken.begin(), taken.end());
        for (size_t n = 0; n < taken.size(); ++n)
            owners[taken[n]] = {.kind = Owner::Kind::test, .test = untold[n]};
    }
    const bool counted = closing || verbose_ || !summaries_.empty();
    constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();
    std::int64_t failed = counted ? 0 : kAny;
    std::int64_t errors = failed;
    if (closing) {
        failed = count_in(*closing, "failed") - known_failed;
        errors = count_in(*closing, "errors") - known_errors;
    }
    for (const size_t k : unknown) {
        Owner& owner = owners[k];
        if (owner.kind == Owner::Kind::test || modules.contains(owner.name)) continue;
        std::int64_t& room = is_call(k) ? failed : errors;
        if (room-- > 0) continue;
        owner.kind = Owner::Kind::nobody;
        if (!sections_[k].after_output)
            diagnose_->add(sections_[k].offset,
                           "a failure of no known test: " + valid_utf8(sections_[k].heading));
    }
}

void PytestScanner::add_section(const Section& section, const Owner& owner) {
    if (owner.kind == Owner::Kind::nobody) return;
    std::string plain;
    std::string_view body =
        unwrapped(log_.text.substr(section.body, section.end - section.body), plain);
    body = without_worker(body.substr(0, body.find_last_not_of('\n') + 1));
    if (owner.kind == Owner::Kind::crash) return add_crash(owner.test, body);
    Failure failure = parse_pytest_failure(body, root_);
    failure.phase = owner.phase;
    failure.counted = owner.phase == Phase::call ? State::failed : State::errored;
    if (owner.kind == Owner::Kind::module) {
        const size_t i = module_case(one_module() ? record_->path : owner.name);
        add_status(i, State::errored, {}, 0);
        keep_failure(record_->cases[i], std::move(failure));
        return;
    }
    std::string_view label = owner.label;
    size_t i = owner.test;
    if (owner.kind == Owner::Kind::unknown_test) {
        const bool may_be = owner.phase == Phase::call && (subtests_ || characters_.empty());
        const size_t labelled = may_be ? subtest_label(owner.name) : owner.name.size();
        label = trimmed(owner.name.substr(labelled));
        i = test_of_section(owner.name.substr(0, labelled), failure);
    }
    if (owner.phase != Phase::call) errors_.push_back(i);
    if (!label.empty()) {
        record_->cases[i].subcases.push_back(
            {valid_utf8(label), State::failed, {}, std::move(failure)});
        return;
    }
    // Of a test without any other word its section alone tells.
    if (!said_[i].any ||
        (owner.phase == Phase::call && !verbose_ && record_->cases[i].state == State::errored))
        add_status(i, *failure.counted, {}, 0);
    keep_failure(record_->cases[i], std::move(failure));
}

// Of a test that nothing else names: its file is the one that its first line of source is in.
size_t PytestScanner::test_of_section(std::string_view heading, const Failure& failure) {
    if (const auto it = by_heading_.find(std::string(heading)); it != by_heading_.end())
        return it->second.cases.back();
    std::string path = failure.frames.empty() ? fallback_ : failure.frames.front().file;
    if (!root_.empty() && path.starts_with(root_ + "/")) path.erase(0, root_.size() + 1);
    std::string tail;
    const size_t bracket = std::min(heading.find('['), heading.size());
    for (const char c : heading.substr(0, bracket)) {
        if (c == '.')
            tail += "::";
        else
            tail += c;
    }
    return find_or_add(fmt::format("{}::{}{}", path, tail, heading.substr(bracket)));
}

// "worker 'gw1' crashed while running 'tests/test_a.py::test_x'" of pytest-xdist.
void PytestScanner::add_crash(size_t i, std::string_view body) {
    CaseRecord& c = record_->cases[i];
    Failure failure;
    const size_t said = body.rfind('\n', body.find(kCrashed)) + 1;  // npos + 1: the first line
    failure.message = valid_utf8(trimmed(body.substr(said, body.find('\n', said) - said)));
    if (failure.message.empty()) failure.message = "a worker crashed while it ran the test";
    failure.traceback = valid_utf8(body);
    failure.counted = State::failed;
    c.reason = failure.message;
    c.state = State::crashed;
    said_[i].any = true;
    keep_failure(c, std::move(failure));
}

}  // namespace compat::parsers
