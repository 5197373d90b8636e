#include "parsers/import/unittest/finish.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "parsers/closing.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/import/doubt.h"
#include "parsers/import/foreign.h"
#include "parsers/import/lines.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using Said = UnittestFacts::Said;
using Section = UnittestFacts::Section;

constexpr std::string_view kAdvice =
    "import JUnit XML (unittest-xml-reporting), or run again with -v and without other output";

// Bounded, so that sums of them are none too great. Without a word, the tests that ran.
std::int64_t counted(const Closing& closing, std::string_view word) {
    return std::min(word.empty() ? *closing.ran : count_in(closing, word), kGreatestCount);
}

// Sections onto the cases that they tell of.
class Sections {
  public:
    Sections(UnittestFacts& facts, UnittestNames& names, std::vector<Diagnostic>& diagnostics)
        : facts_(facts), names_(names), diagnose_("log", diagnostics) {}

    void add(const Section& section);
    // Lines of sub-tests, before the sections.
    void add_subs() {
        for (UnittestFacts::Sub& sub : facts_.subs)
            subcase(sub.of, sub.sub.label) = std::move(sub.sub);
    }

  private:
    size_t owner_of(const UnittestHeader& header, State state, bool of_subtest);
    SubCase& subcase(size_t i, std::string label);
    [[nodiscard]] Failure failure_in(const Section& section) const;

    UnittestFacts& facts_;
    UnittestNames& names_;
    Diagnoser diagnose_;
    std::unordered_map<std::string, size_t> labels_;  // behind the number of their case
    // Which of several tests with one name is the next that failed, and that had an error.
    std::unordered_map<std::string, std::array<size_t, 2>> next_;
};

Failure Sections::failure_in(const Section& section) const {
    std::string plain;
    const std::string_view body =
        unwrapped(facts_.text.substr(section.body, section.end - section.body), plain);
    Failure failure = parse_traceback(body.substr(0, body.find_last_not_of('\n') + 1));
    failure.counted = section.state;
    return failure;
}

void Sections::add(const Section& section) {
    const auto header = header_of(section.heading);
    const bool verbose = facts_.verbose;
    if (section.state == State::xpassed) {
        // Where there are lines of tests, they have said so.
        if (header && !verbose)
            facts_.said[owner_of(*header, section.state, false)].good = State::xpassed;
        return;
    }
    if (!header) {
        diagnose_.add(section.offset, "a failure of no known test: " + valid_utf8(section.heading));
        return;
    }
    const std::string_view label = trimmed(header->rest);
    const size_t i = owner_of(*header, section.state, !label.empty());
    CaseRecord& c = facts_.cases[i];
    if (c.duration_s == 0) c.duration_s = section.duration_s;
    Failure failure = failure_in(section);
    failure.phase = c.phase;
    if (!label.empty()) {
        SubCase& sub = subcase(i, valid_utf8(label));
        sub.state = section.state;
        sub.failure = std::move(failure);
    } else if (!c.failure) {
        c.failure = std::move(failure);
    } else {
        c.also.push_back(std::move(failure));
    }
}

// Of several tests with the name the next one whose line says that it broke so.
size_t Sections::owner_of(const UnittestHeader& header, State state, bool of_subtest) {
    const auto known = facts_.cases.find(unittest_name_of(header), unittest_phase_of(header));
    if (!known) {
        facts_.said.emplace_back();
        return facts_.cases.add(names_.case_of(header));
    }
    const std::vector<size_t>* const all = facts_.cases.namesakes(*known);
    if (!all || of_subtest) return *known;
    size_t& next = next_[facts_.cases[*known].name][state == State::failed ? 0 : 1];
    while (next < all->size())
        if (const size_t i = (*all)[next++]; facts_.said[i].broken == state) return i;
    return *known;
}

// The one with the label that no section has told of yet.
SubCase& Sections::subcase(size_t i, std::string label) {
    std::vector<SubCase>& all = facts_.cases[i].subcases;
    const auto [at, is_new] = labels_.try_emplace(fmt::format("{} {}", i, label), all.size());
    if (!is_new && !all[at->second].failure) return all[at->second];
    at->second = all.size();
    all.push_back({});
    all.back().label = std::move(label);
    return all.back();
}

bool has(const std::vector<SubCase>& subs, State state) {
    return std::any_of(subs.begin(), subs.end(),
                       [&](const SubCase& sub) { return sub.state == state; });
}

// Sections are printed errors first; which came first in the test, its lines tell.
void resolve_broken(CaseRecord& c, const Said& said) {
    const auto counts = [&](State state) {
        return c.failure->counted == state ||
               std::any_of(c.also.begin(), c.also.end(),
                           [&](const Failure& f) { return f.counted == state; });
    };
    if (said.good == State::skipped && !c.pseudo)
        c.call_state = State::skipped;
    else
        c.reason.clear();
    c.state = counts(State::failed) ? State::failed : State::errored;
    if (said.broken && counts(*said.broken)) c.state = *said.broken;
    if (c.failure->counted == c.state) return;
    const auto same = std::find_if(c.also.begin(), c.also.end(),
                                   [&](const Failure& f) { return f.counted == c.state; });
    std::swap(*c.failure, *same);
}

// How far the test came, with its state where it ended.
Progress resolve(CaseRecord& c, const Said& said, bool finished) {
    if (c.failure) {
        resolve_broken(c, said);
    } else if (has(c.subcases, State::failed) || has(c.subcases, State::errored)) {
        c.state = has(c.subcases, State::failed) ? State::failed : State::errored;
        c.call_state = State::passed;
        c.reason.clear();
    } else if (said.good || said.broken) {
        // What broke has a section: the test had printed the word.
        c.state = said.good ? *said.good : *said.broken;
    } else if (said.soft && (finished || said.soft_is_last)) {
        c.state = *said.soft;
    } else if (has(c.subcases, State::skipped)) {
        c.state = State::skipped;
        c.call_state = State::passed;
        c.reason = c.subcases.front().reason;
    } else {
        return Progress::started;
    }
    return Progress::ended;
}

// The tests of a run that is not verbose, but for those that have a section: as many in each state
// as the closing counts; of a run that breaks off, as there are characters.
class UnnamedTests {
  public:
    UnnamedTests(ModuleRecord& record, Unnamed::Room& room, std::string path)
        : unnamed_(record, room), record_(record), path_(std::move(path)) {}

    // False: nothing tells how many of the skips are of class and module fixtures.
    [[nodiscard]] bool add_counted(const Closing& closing, const UnittestFacts& facts);
    void add_characters(const UnittestFacts& facts);
    // Skips by class and module fixtures that nothing names: `more` have no line either.
    void add_skips(const UnittestFacts& facts, std::int64_t more);
    void tell(size_t offset) const {
        if (unnamed_.left_out() > 0) unnamed_.tell(offset);
    }

  private:
    void add(State state, std::int64_t count) {
        CaseRecord like;
        like.started = true;
        like.state = state;
        unnamed_.add(path_, count, like);
    }
    void add_fixtures(std::int64_t count, const std::string& reason) {
        CaseRecord like;
        like.state = State::skipped;
        like.pseudo = true;
        like.phase = Phase::class_setup;
        like.reason = reason;
        unnamed_.add(path_, count, like);
    }

    Unnamed unnamed_;
    ModuleRecord& record_;
    std::string path_;
};

bool UnnamedTests::add_counted(const Closing& closing, const UnittestFacts& facts) {
    std::int64_t unexpected = counted(closing, "unexpected successes");
    std::int64_t named = 0;
    for (const CaseRecord& c : record_.cases) {
        named += c.started;
        unexpected -= c.state == State::xpassed;
    }
    const std::int64_t skipped = counted(closing, "skipped");
    const std::int64_t expected = counted(closing, "expected failures");
    // The least number of passed tests. It is more if some skips are of fixtures, or of a test that
    // has a section: as many as there are characters.
    const auto seen = [&](State state) {
        return facts.characters[static_cast<size_t>(state)] +
               facts.around[static_cast<size_t>(state)];
    };
    const std::int64_t least = counted(closing, {}) - named - skipped - expected - unexpected;
    const std::int64_t passed = std::clamp(seen(State::passed), std::max<std::int64_t>(least, 0),
                                           std::max<std::int64_t>(least + skipped, 0));
    const std::int64_t of_fixtures = std::clamp<std::int64_t>(passed - least, 0, skipped);
    add(State::passed, passed);
    add(State::skipped, skipped - of_fixtures);
    add_fixtures(of_fixtures, {});
    add(State::xfailed, expected);
    add(State::xpassed, unexpected);
    // Python 3.12.1 leaves tests that skip out of what ran: they look as if a fixture skipped.
    if (of_fixtures > 0) return false;
    return skipped == 0 || !facts.first_character ||
           (seen(State::passed) == passed && seen(State::skipped) == skipped);
}

void UnnamedTests::add_characters(const UnittestFacts& facts) {
    for (size_t state = 0; state < facts.characters.size(); ++state)
        add(static_cast<State>(state), facts.characters[state]);
}

void UnnamedTests::add_skips(const UnittestFacts& facts, std::int64_t more) {
    for (const UnittestFacts::Skip& skip : facts.skips) add_fixtures(1, skip.reason);
    add_fixtures(more, {});
}

// Where each test has its line, what else was skipped was skipped by a fixture.
std::int64_t unsaid_skips(const UnittestFacts& facts, const ModuleRecord& record) {
    if (!record.closing || *record.closing->ran != facts.begun) return 0;
    std::int64_t missing =
        counted(*record.closing, "skipped") - static_cast<std::int64_t>(facts.skips.size());
    for (const CaseRecord& c : record.cases) {
        missing -= c.call_state.value_or(c.state) == State::skipped;
        missing -= std::count_if(c.subcases.begin(), c.subcases.end(),
                                 [](const SubCase& s) { return s.state == State::skipped; });
    }
    return missing;
}

}  // namespace

FinishedUnittestRun finish_unittest_run(UnittestRun run, std::optional<Closing> closing, size_t end,
                                        UnittestNames& names, Unnamed::Room& room) {
    run.close_section(end);
    const bool fits = closing && run.fits(*closing);
    UnittestFacts& facts = run.facts();
    FinishedUnittestRun finished;
    ModuleRecord& record = finished.record;
    record.from_text = true;
    record.framework = name_of(Framework::unittest);
    {
        Sections sections(facts, names, record.diagnostics);
        sections.add_subs();
        for (const Section& section : facts.sections) sections.add(section);
    }
    record.cases = std::move(facts.cases.all());
    for (size_t i = 0; i < record.cases.size(); ++i)
        finished.progress.push_back(resolve(record.cases[i], facts.said[i], closing.has_value()));
    record.path = common_module(record.cases);
    UnnamedTests unnamed(record, room,
                         record.path.empty() && !record.cases.empty()
                             ? std::string(module_of(record.cases.back()))
                         : record.path.empty() ? names.fallback()
                                               : record.path);
    record.closing = std::move(closing);
    if (facts.verbose)
        unnamed.add_skips(facts, unsaid_skips(facts, record));
    else if (record.closing && !unnamed.add_counted(*record.closing, facts))
        add_doubt(record, facts.begin, "nothing tells whether tests or their fixtures were skipped",
                  kAdvice);
    else if (!record.closing)
        unnamed.add_characters(facts);
    unnamed.tell(facts.begin);
    if (record.cases.empty())
        record.path = names.fallback();
    else
        record.path = common_module(record.cases);
    finished.progress.resize(record.cases.size(), Progress::ended);
    record.collected = static_cast<std::int64_t>(record.cases.size());
    if (!record.closing) return finished;
    if (!fits)
        add_doubt(record, end, "the closing is not of what stands before it", kAdvice);
    else
        check_totals(record, end, kAdvice);
    if (facts.verbose && facts.first_character)
        record.diagnostics.push_back({"log", static_cast<std::int64_t>(*facts.first_character),
                                      "characters like those of tests, in front of a run"});
    return finished;
}

}  // namespace compat::parsers
