// The end of a run of unittest's: a record with one state for each test (run.h).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/import/doubt.h"
#include "parsers/import/importers.h"
#include "parsers/import/lines.h"
#include "parsers/import/unittest/run.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using Outcomes = UnittestFacts::Outcomes;
using Section = UnittestFacts::Section;

constexpr std::string_view kAdvice =
    "import JUnit XML (unittest-xml-reporting), or run again with -v and without other output";

bool has(const std::vector<SubCase>& subs, State state) {
    return std::any_of(subs.begin(), subs.end(),
                       [&](const SubCase& sub) { return sub.state == state; });
}

// Sections and lines of sub-tests onto the cases that they tell of.
class Sections {
  public:
    Sections(UnittestFacts& facts, UnittestNames& names, std::vector<Diagnostic>& diagnostics)
        : facts_(facts), names_(names), diagnose_("log", diagnostics) {}

    void add_all() {
        for (UnittestFacts::Sub& sub : facts_.subs)
            subcase(sub.cases - 1, sub.sub.label) = std::move(sub.sub);
        for (const Section& section : facts_.sections) add(section);
    }

  private:
    void add(const Section& section);
    size_t owner_of(const UnittestHeader& header, State state, bool of_subtest);
    SubCase& subcase(size_t i, const std::string& label);

    UnittestFacts& facts_;
    UnittestNames& names_;
    Diagnoser diagnose_;
    std::unordered_map<std::string, size_t> labels_;  // behind the number of their case
    // The tests with the name of the last one, and which of them is the next that had an error, and
    // that failed.
    struct Queue {
        std::vector<size_t> tests;
        std::array<size_t, 2> next{};
    };
    std::unordered_map<size_t, Queue> queues_;
};

void Sections::add(const Section& section) {
    const auto header = header_of(section.heading);
    if (section.state == State::xpassed) {
        // Where there are lines of tests, they have said so.
        if (header && !facts_.verbose)
            facts_.outcomes[owner_of(*header, section.state, false)].good = State::xpassed;
        return;
    }
    if (!header) {
        diagnose_.add(section.offset, "a failure of no known test: " + valid_utf8(section.heading));
        return;
    }
    const std::string label = valid_utf8(trimmed(header->rest));
    const size_t i = owner_of(*header, section.state, !label.empty());
    CaseRecord& c = facts_.cases[i];
    if (c.duration_s == 0) c.duration_s = section.duration_s;
    std::string plain;
    const std::string_view body =
        unwrapped(facts_.text.substr(section.body, section.end - section.body), plain);
    Failure failure = parse_traceback(body.substr(0, body.find_last_not_of('\n') + 1));
    failure.counted = section.state;
    failure.phase = c.phase;
    if (!label.empty()) {
        SubCase& sub = subcase(i, label);
        sub.state = section.state;
        sub.failure = std::move(failure);
    } else if (!c.failure) {
        c.failure = std::move(failure);
    } else {
        c.also.push_back(std::move(failure));
    }
}

// Takes the next one of several tests with the name whose line says that it broke so.
size_t Sections::owner_of(const UnittestHeader& header, State state, bool of_subtest) {
    const auto last = facts_.find(header);
    if (!last) {
        facts_.outcomes.emplace_back();
        facts_.cases.push_back(names_.case_of(header));
        return facts_.cases.size() - 1;
    }
    if (of_subtest) return *last;
    auto& [namesakes, next] = queues_[*last];
    if (namesakes.empty()) {
        for (std::optional<size_t> i = last; i; i = facts_.names.before(*i))
            if (facts_.cases[*i].phase == facts_.cases[*last].phase) namesakes.push_back(*i);
        std::reverse(namesakes.begin(), namesakes.end());
    }
    for (size_t& at = next[state == State::failed]; at < namesakes.size();)
        if (const size_t i = namesakes[at++]; facts_.outcomes[i].broken == state) return i;
    return *last;
}

// The one with the label that no section has told of yet.
SubCase& Sections::subcase(size_t i, const std::string& label) {
    std::vector<SubCase>& all = facts_.cases[i].subcases;
    const auto [at, is_new] = labels_.try_emplace(fmt::format("{} {}", i, label), all.size());
    if (!is_new && !all[at->second].failure) return all[at->second];
    at->second = all.size();
    all.push_back({label, State::passed, {}, {}});
    return all.back();
}

// Sections are printed errors first; which came first in the test, its lines tell.
void resolve_broken(CaseRecord& c, const Outcomes& outcomes) {
    if (outcomes.good == State::skipped && !c.pseudo)
        c.call_state = State::skipped;
    else
        c.reason.clear();
    c.state = has_failure(c, State::failed) ? State::failed : State::errored;
    if (outcomes.broken && has_failure(c, *outcomes.broken)) c.state = *outcomes.broken;
    if (c.failure->counted == c.state) return;
    std::swap(*c.failure, *std::find_if(c.also.begin(), c.also.end(),
                                        [&](const Failure& f) { return f.counted == c.state; }));
}

// How far the test came, with its state where it ended.
Progress resolve(CaseRecord& c, const Outcomes& outcomes, bool finished) {
    const bool failed = has(c.subcases, State::failed);
    if (c.failure) {
        resolve_broken(c, outcomes);
    } else if (failed || has(c.subcases, State::errored)) {
        c.state = failed ? State::failed : State::errored;
        c.call_state = State::passed;
        c.reason.clear();
    } else if (outcomes.good || outcomes.broken) {
        // Every test that broke has a section: this one had printed the word.
        c.state = outcomes.good ? *outcomes.good : *outcomes.broken;
    } else if (outcomes.glued && (finished || outcomes.glued_is_last)) {
        c.state = *outcomes.glued;
    } else if (has(c.subcases, State::skipped)) {
        c.state = State::skipped;
        c.call_state = State::passed;
        c.reason = c.subcases.front().reason;
    } else {
        return Progress::started;
    }
    return Progress::ended;
}

// The tests of a run that is not verbose, but for those that have a section, and what class and
// module fixtures skipped and nothing names.
class UnnamedTests {
  public:
    UnnamedTests(const UnittestFacts& facts, ModuleRecord& record, Unnamed::Room& room,
                 std::string_view path)
        : facts_(facts), record_(record), path_(path), unnamed_(record, room) {}

    // False: nothing tells how many of the skips are of fixtures.
    [[nodiscard]] bool add() {
        bool sure = true;
        if (facts_.verbose)
            add_skips();
        else if (record_.closing)
            sure = add_counted();
        else
            for (size_t i = 0; i < facts_.characters.size(); ++i)
                add(static_cast<State>(i), facts_.characters[i]);
        if (unnamed_.left_out() > 0) unnamed_.tell(facts_.begin);
        return sure;
    }

  private:
    bool add_counted();
    void add_skips();
    void add(State state, std::int64_t count) { unnamed_.add(path_, count, state); }
    void add_fixtures(std::int64_t count, const std::string& reason) {
        CaseRecord like;
        like.state = State::skipped;
        like.pseudo = true;
        like.phase = Phase::class_setup;
        like.reason = reason;
        unnamed_.add(path_, count, like);
    }
    // Bounded, so that sums are none too great.
    [[nodiscard]] std::int64_t counted(std::string_view word) const {
        return std::min(count_in(*record_.closing, word), kGreatestCount);
    }
    [[nodiscard]] std::int64_t seen(State state) const { return facts_.characters[state]; }

    const UnittestFacts& facts_;
    ModuleRecord& record_;
    std::string_view path_;
    Unnamed unnamed_;
};

bool UnnamedTests::add_counted() {
    std::int64_t unexpected = counted("unexpected successes");
    std::int64_t named = 0;
    for (const CaseRecord& c : record_.cases) {
        named += c.started;
        unexpected -= c.state == State::xpassed;
    }
    const std::int64_t skipped = counted("skipped");
    const std::int64_t expected = counted("expected failures");
    // The least number of passed tests. It is more if some skips are of fixtures: as many as there
    // are characters. Python 3.12.1 leaves tests that skip out of what ran, which looks so, too.
    const std::int64_t least = std::max<std::int64_t>(
        std::min(*record_.closing->ran, kGreatestCount) - named - skipped - expected - unexpected,
        0);
    const std::int64_t passed = std::clamp(seen(State::passed), least, least + skipped);
    add(State::passed, passed);
    add(State::skipped, skipped - (passed - least));
    add_fixtures(passed - least, {});
    add(State::xfailed, expected);
    add(State::xpassed, unexpected);
    return skipped == 0 ||
           (passed == least && seen(State::passed) == passed && seen(State::skipped) == skipped);
}

// Where each test has its line, what else was skipped was skipped by a fixture.
void UnnamedTests::add_skips() {
    std::int64_t more = 0;
    if (record_.closing && *record_.closing->ran == facts_.begun) {
        more = counted("skipped") - static_cast<std::int64_t>(facts_.skips.size());
        for (const CaseRecord& c : record_.cases) {
            more -= c.call_state.value_or(c.state) == State::skipped;
            more -= std::ranges::count(c.subcases, State::skipped, &SubCase::state);
        }
    }
    for (const UnittestFacts::Skip& skip : facts_.skips) add_fixtures(1, skip.reason);
    add_fixtures(more, {});
}

}  // namespace

FinishedUnittestRun finish_unittest_run(UnittestRun run, std::optional<FrameworkSummary> closing,
                                        size_t end, UnittestNames& names, Unnamed::Room& room) {
    run.close_section(end);
    const bool fits = closing && run.fits(*closing);
    UnittestFacts& facts = run.facts();
    FinishedUnittestRun finished;
    ModuleRecord& record = finished.record;
    record.from_text = true;
    record.framework = name_of(Framework::unittest);
    Sections(facts, names, record.diagnostics).add_all();
    for (size_t i = 0; i < facts.cases.size(); ++i)
        finished.progress.push_back(
            resolve(facts.cases[i], facts.outcomes[i], closing.has_value()));
    record.cases = std::move(facts.cases);
    number_repeated_ids(record.cases);
    record.closing = std::move(closing);
    const std::string path =
        record.cases.empty() ? names.fallback() : std::string(module_of(record.cases.back()));
    record.path = record.cases.empty() ? path : common_module(record.cases);
    if (!UnnamedTests(facts, record, room, path).add())
        add_doubt(record, facts.begin, "nothing tells whether tests or their fixtures were skipped",
                  kAdvice);
    finished.progress.resize(record.cases.size(), Progress::ended);
    record.collected = static_cast<std::int64_t>(record.cases.size());
    if (!record.closing) return finished;
    if (!fits)
        add_doubt(record, end, "the closing line counts other tests than the lines before it show",
                  kAdvice);
    else
        check_totals(record, end, kAdvice);
    return finished;
}

}  // namespace compat::parsers
