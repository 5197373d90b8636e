#include "parsers/import/pytest/headings.h"

#include <algorithm>
#include <array>

namespace compat::parsers {

namespace {

// The words with which a section's heading says where a test broke.
struct HeadingWord {
    std::string_view prefix;
    Phase phase;
};
constexpr std::array<HeadingWord, 4> kHeadings{{
    {"ERROR at setup of ", Phase::setup},
    {"ERROR at teardown of ", Phase::teardown},
    {"ERROR collecting ", Phase::load},
    {"[doctest] ", Phase::call},
}};

// Of a heading that is a sub-test's each blank is looked at.
constexpr size_t kLongestHeading = 2000;

}  // namespace

std::string section_heading_of(std::string_view tail) {
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

void PytestSaid::add(State state) {
    if (state == State::errored)
        errored = true;
    else if (call && state == State::xfailed)
        excused = true;
    else if (!call)
        call = state;
}

PytestHeadings::PytestHeadings(const CaseTable& cases) {
    for (size_t i = 0; i < cases.size(); ++i) add(cases[i].name, i);
}

void PytestHeadings::add(std::string_view name, size_t test) {
    const size_t names = name.find("::");
    if (names != std::string_view::npos)
        by_heading_[section_heading_of(name.substr(names + 2))].cases.push_back(test);
}

std::optional<size_t> PytestHeadings::find(std::string_view name) const {
    const auto it = by_heading_.find(std::string(name));
    return it == by_heading_.end() ? std::nullopt : std::optional(it->second.cases.back());
}

PytestOwner PytestHeadings::owner_of(std::string_view heading,
                                     const std::vector<PytestSaid>& said) {
    PytestOwner owner;
    for (const HeadingWord& known : kHeadings)
        if (heading.starts_with(known.prefix)) {
            owner.phase = known.phase;
            heading.remove_prefix(known.prefix.size());
            break;
        }
    owner.name = heading;
    if (owner.phase == Phase::load) {
        owner.kind = PytestOwner::Kind::module;
        return owner;
    }
    const bool in_call = owner.phase == Phase::call;
    if (const auto it = by_heading_.find(owner.name); it != by_heading_.end()) {
        Headed& headed = it->second;
        size_t& next = in_call ? headed.next_failed : headed.next_errored;
        const auto broke_there = [&](size_t i) {
            return !said[i].any() || (in_call ? said[i].call == State::failed : said[i].errored);
        };
        while (next < headed.cases.size() && !broke_there(headed.cases[next])) ++next;
        if (next == headed.cases.size()) return owner;
        owner.kind = PytestOwner::Kind::test;
        owner.test = headed.cases[next++];
        return owner;
    }
    if (!in_call || heading.size() > kLongestHeading) return owner;
    // A sub-test: its test's name, a blank, its label.
    for (size_t blank = heading.find(' '); blank != std::string_view::npos;
         blank = heading.find(' ', blank + 1))
        if (const auto test = find(heading.substr(0, blank))) {
            owner.kind = PytestOwner::Kind::subtest;
            owner.test = *test;
            owner.label = heading.substr(blank + 1);
            return owner;
        }
    return owner;
}

}  // namespace compat::parsers
