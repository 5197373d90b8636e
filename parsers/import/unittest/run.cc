#include "parsers/import/unittest/run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "parsers/closing.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kFatal = "Fatal Python error: ";

// The state that a character gives, and the closing's word for it; tests that passed have none.
struct CountedCharacter {
    State state;
    std::string_view word;
};
constexpr std::array<CountedCharacter, 5> kCountedCharacters{{
    {State::failed, "failures"},
    {State::errored, "errors"},
    {State::skipped, "skipped"},
    {State::xfailed, "expected failures"},
    {State::xpassed, "unexpected successes"},
}};

// Moves what came with case `from` or later.
template <class T>
std::vector<T> cut_tail(std::vector<T>& all, size_t from, size_t T::*cases) {
    const auto first = std::partition_point(all.begin(), all.end(),
                                            [&](const T& one) { return one.*cases < from; });
    std::vector<T> tail(std::make_move_iterator(first), std::make_move_iterator(all.end()));
    all.erase(first, all.end());
    return tail;
}

}  // namespace

void UnittestRun::begin(const UnittestHeader& header, UnittestNames& names, size_t offset,
                        size_t after) {
    if (facts_.cases.size() > 0 && header.key == key_) {
        // Python 3.12 prints it once more for a second status, and after sub-tests.
        const size_t last = facts_.cases.size() - 1;
        const UnittestFacts::Said& said = facts_.said[last];
        const bool has_subs = !facts_.subs.empty() && facts_.subs.back().of == last;
        if (said.broken || said.good == State::skipped || has_subs) return;
    }
    facts_.verbose = true;
    key_ = header.key;
    dying_ = false;
    facts_.tail = after;
    CaseRecord c = names.case_of(header);
    facts_.begun += c.started;
    facts_.cases.add(std::move(c));
    UnittestFacts::Said& said = facts_.said.emplace_back();
    said.ordinal = facts_.begun;
    said.offset = offset;
    said.after = after;
}

void UnittestRun::take_status(const UnittestStatus& status, size_t after) {
    // The line of a test that another one printed: what follows is that one's own outcome. A
    // fixture says no more than that it broke or skips.
    if (const size_t last = facts_.said.size();
        last > 1 && !facts_.said[last - 1].is_open() && facts_.said[last - 2].is_open() &&
        !facts_.said[last - 2].soft && status.state != State::errored &&
        status.state != State::skipped)
        drop(last - 1);
    facts_.tail = after;
    const size_t cases = facts_.cases.size();
    if (cases == 0 || (!facts_.said[cases - 1].is_open() && status.state == State::skipped)) {
        // A class or module fixture that skips all under it is not named, up to Python 3.10.
        if (status.state != State::skipped) return;
        facts_.verbose = true;
        facts_.skips.push_back({status.reason, cases});
        return;
    }
    UnittestFacts::Said& said = facts_.said[cases - 1];
    CaseRecord& c = facts_.cases[cases - 1];
    c.duration_s += status.duration_s;
    if (broke(status.state)) {
        if (!said.broken) said.broken = status.state;
        return;
    }
    said.good = status.state;
    c.reason = status.reason;
}

void UnittestRun::take_subtest(const UnittestEvent& event) {
    const size_t cases = facts_.cases.size();
    if (cases == 0 || event.header->key != key_) return take_text(event.line);
    facts_.said.back().told_of = true;
    facts_.subs.push_back(
        {cases - 1, {valid_utf8(event.rest), event.status->state, event.status->reason, {}}});
}

void UnittestRun::take_text(std::string_view line) {
    const size_t cases = facts_.cases.size();
    if (cases == 0) {
        facts_.printed = true;
        const auto count = [&](auto from, auto to) {
            for (; from != to && is_unittest_progress(*from); ++from)
                ++facts_.around[static_cast<size_t>(*unittest_state_of(*from))];
        };
        count(line.begin(), line.end());
        count(line.rbegin(), line.rend());
        return;
    }
    dying_ = dying_ || line.starts_with(kFatal);
    if (!facts_.said[cases - 1].is_open()) return;
    UnittestFacts::Said& said = facts_.said[cases - 1];
    said.soft_is_last = false;
    // A dump's frames end with names of functions.
    const auto status = dying_ ? std::nullopt : unittest_status_at_end(line);
    if (!status) return;
    said.soft = status->state;
    said.soft_is_last = true;
    facts_.cases[cases - 1].duration_s = status->duration_s;
    facts_.cases[cases - 1].reason = status->reason;
}

void UnittestRun::take_characters(std::string_view characters, size_t offset, size_t after) {
    if (is_verbose()) return take_text(characters);
    if (!facts_.first_character) facts_.first_character = offset;
    for (const char c : characters) ++facts_.characters[static_cast<size_t>(*unittest_state_of(c))];
    facts_.tail = after;
}

void UnittestRun::take_duration(const UnittestEvent& event) {
    const auto i =
        facts_.cases.find(unittest_name_of(*event.header), unittest_phase_of(*event.header));
    if (i) facts_.cases[*i].duration_s = event.seconds;
}

void UnittestRun::open_section(const UnittestEvent& title, size_t offset, size_t body) {
    close_section(offset);
    const size_t cases = facts_.cases.size();
    facts_.sections.push_back({title.status->state, title.status->duration_s,
                               std::string(title.rest), offset, body, body, cases});
    // Nothing stands under the title of an unexpected success.
    section_is_open_ = title.status->state != State::xpassed;
    if (!title.header) return;
    const bool of_fixture = unittest_fixture_of(title.header->method) != nullptr;
    if (!is_verbose() && !of_fixture && broke(title.status->state))
        broken_.insert(unittest_name_of(*title.header));
    const auto i =
        facts_.cases.find(unittest_name_of(*title.header), unittest_phase_of(*title.header));
    if (i) facts_.said[*i].told_of = true;
}

void UnittestRun::set_body(size_t body) { facts_.sections.back().body = body; }

void UnittestRun::close_section(size_t end) {
    if (section_is_open_) facts_.sections.back().end = std::max(end, facts_.sections.back().body);
    section_is_open_ = false;
}

bool UnittestRun::is_open() const { return !facts_.said.empty() && facts_.said.back().is_open(); }

bool UnittestRun::fits(const Closing& closing) const {
    if (!is_verbose()) return fits_characters(closing);
    if (is_open() && !facts_.said.back().soft) return false;
    const std::int64_t more = facts_.begun - *closing.ran;
    if (more == 0) return true;
    // Python 3.12.1 does not count what decorators skip.
    if (more < 0 || more > count_in(closing, "skipped")) return false;
    return std::none_of(
        facts_.said.begin(), facts_.said.end(),
        [](const UnittestFacts::Said& said) { return said.is_open() && !said.soft; });
}

// Of each character there are as many as the closing counts; fewer, where tests printed between
// them, or none at all (-q).
bool UnittestRun::fits_characters(const Closing& closing) const {
    std::int64_t counted = *closing.ran - static_cast<std::int64_t>(broken_.size());
    bool fewer = false;
    for (const CountedCharacter& known : kCountedCharacters) {
        const std::int64_t count = count_in(closing, known.word);
        const std::int64_t seen = facts_.characters[static_cast<size_t>(known.state)];
        if (seen > count) return false;
        fewer = fewer || seen < count;
        // A fixture may skip, for tests that are not counted.
        if (known.state == State::xfailed || known.state == State::xpassed) counted -= count;
    }
    const std::int64_t passed = facts_.characters[static_cast<size_t>(State::passed)];
    if (passed > counted) return false;
    fewer = fewer || passed < counted - count_in(closing, "skipped");
    return !fewer || facts_.printed || !facts_.first_character;
}

std::optional<size_t> UnittestRun::inner(const Closing& closing, bool reopened) const {
    const std::int64_t outer = facts_.begun - *closing.ran;
    const auto at = std::lower_bound(facts_.said.begin(), facts_.said.end(), outer,
                                     [](const UnittestFacts::Said& said, std::int64_t ordinal) {
                                         return said.ordinal < ordinal;
                                     });
    if (outer <= 0 || *closing.ran <= 0 || at == facts_.said.end()) return std::nullopt;
    const auto i = static_cast<size_t>(at - facts_.said.begin());
    return reopened || facts_.said[i].is_open() ? std::optional(i + 1) : std::nullopt;
}

void UnittestRun::drop(size_t from) { (void)split(from); }

UnittestRun UnittestRun::split(size_t from) {
    UnittestRun tail(facts_.text,
                     from < facts_.said.size() ? facts_.said[from].offset : facts_.tail);
    tail.facts_.sections = cut_tail(facts_.sections, from, &UnittestFacts::Section::cases);
    tail.facts_.skips = cut_tail(facts_.skips, from, &UnittestFacts::Skip::cases);
    tail.facts_.subs = cut_tail(facts_.subs, from, &UnittestFacts::Sub::of);
    for (UnittestFacts::Sub& sub : tail.facts_.subs) sub.of -= from;
    for (size_t i = from; i < facts_.said.size(); ++i) {
        tail.facts_.said.push_back(facts_.said[i]);
        tail.facts_.said.back().ordinal -= facts_.said[from - 1].ordinal;
    }
    facts_.said.resize(from);
    for (CaseRecord& c : facts_.cases.cut(from)) tail.facts_.cases.add(std::move(c));
    tail.facts_.verbose = true;
    tail.facts_.begun = facts_.begun - facts_.said.back().ordinal;
    facts_.begun = facts_.said.back().ordinal;
    tail.facts_.tail = facts_.tail;
    tail.key_ = std::exchange(key_, {});
    facts_.tail = facts_.said.back().after;
    if (!tail.facts_.sections.empty())
        tail.section_is_open_ = std::exchange(section_is_open_, false);
    return tail;
}

}  // namespace compat::parsers
