// The end of a run of unittest's: a record with one state for each test (run.h).
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "parsers/import/doubt.h"
#include "parsers/import/importers.h"
#include "parsers/import/lines.h"
#include "parsers/import/printed_end.h"
#include "parsers/import/unittest/run.h"
#include "parsers/import/unnamed.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using Outcomes = UnittestRun::Outcomes;
using Section = UnittestRun::Section;

constexpr std::string_view kUnittestAdvice =
    "import JUnit XML (unittest-xml-reporting), or run again with -v and without other output";
constexpr std::string_view kUnittestNamesAdvice =
    "import JUnit XML (unittest-xml-reporting; pytest --junit-xml), or run again with -v";

bool has(const std::vector<SubCase>& subs, State state) {
    return std::any_of(subs.begin(), subs.end(),
                       [&](const SubCase& sub) { return sub.state == state; });
}

constexpr int kMostNamesakes = 64;  // that are looked at

// Sections and lines of sub-tests onto the cases that they tell of.
class Sections {
  public:
    Sections(UnittestRun& facts, UnittestNames& names, std::vector<Diagnostic>& diagnostics)
        : facts_(facts), names_(names), diagnose_("log", diagnostics) {}

    void add_all() {
        for (UnittestRun::Sub& sub : facts_.subs)
            subcase(sub.test, sub.sub.label) = std::move(sub.sub);
        for (const Section& section : facts_.sections) add(section);
    }

  private:
    void add(const Section& section) {
        const auto header = header_of(section.heading);
        if (section.state == State::xpassed) {
            // Where there are lines of tests, they have said so.
            if (header && !facts_.verbose)
                facts_.outcomes[owner_of(*header, section.state, false)].good = State::xpassed;
            return;
        }
        if (!header) {
            diagnose_.add(section.offset,
                          "a failure of no known test: " + valid_utf8(section.heading));
            return;
        }
        const std::string label = valid_utf8(trimmed(header->rest));
        const size_t i = owner_of(*header, section.state, !label.empty());
        CaseRecord& c = facts_.cases[i];
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

    // Takes one of several tests with the name whose line says that it broke so.
    size_t owner_of(const UnittestHeader& header, State state, bool of_subtest) {
        const auto last = facts_.find(header);
        if (!last) {
            facts_.outcomes.emplace_back();
            facts_.cases.push_back(names_.case_of(header));
            return facts_.cases.size() - 1;
        }
        if (of_subtest) return *last;
        std::optional<size_t> at = last;
        for (int n = 0; at && n < kMostNamesakes; ++n, at = facts_.names.before(*at))
            if (facts_.outcomes[*at].broken == state && !has_failure(facts_.cases[*at], state))
                return *at;
        return *last;
    }

    // The one with the label that no section has told of yet.
    SubCase& subcase(size_t i, const std::string& label) {
        std::vector<SubCase>& all = facts_.cases[i].subcases;
        const auto [at, is_new] = labels_.try_emplace(fmt::format("{} {}", i, label), all.size());
        if (!is_new && !all[at->second].failure) return all[at->second];
        at->second = all.size();
        all.push_back({label, State::passed, {}, {}});
        return all.back();
    }

    UnittestRun& facts_;
    UnittestNames& names_;
    Diagnoser diagnose_;
    std::unordered_map<std::string, size_t> labels_;  // behind the number of their case
};

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
        if (failed && c.state == State::errored)
            c.call_state = c.call_state.value_or(std::exchange(c.state, State::failed));
    } else if (failed || has(c.subcases, State::errored)) {
        c.state = failed ? State::failed : State::errored;
        c.call_state = outcomes.good.value_or(State::passed);
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

// The tests that the run counts and does not name. Where tests have lines, only what fixtures
// skipped has none.
UnnamedTests unnamed_tests(const UnittestRun& facts, const ModuleRecord& record) {
    UnnamedTests unnamed{.reason = {}, .pseudo = facts.verbose};
    const FrameworkSummary& closing = *record.closing;
    if (facts.verbose && *closing.ran != facts.begun) return unnamed;
    unnamed.counts = counts_beyond_cases(record, facts.verbose);
    if (facts.verbose) return unnamed;
    const auto begun = std::ranges::count(record.cases, true, &CaseRecord::started);
    // "Ran" has the skipped tests. A skipped fixture counts as one, too: nothing tells them apart.
    std::int64_t passed = std::min(*closing.ran, kGreatestCount) - begun;
    for (const State other : {State::xfailed, State::xpassed, State::skipped})
        passed -= unnamed.counts[other];
    unnamed.counts[State::passed] = std::max<std::int64_t>(passed, 0);
    return unnamed;
}

}  // namespace

void doubt_unittest(ModuleRecord& record, size_t offset, std::string_view why) {
    add_doubt(record, offset, why, kUnittestAdvice);
}

FinishedRun finish_unittest_run(UnittestRun run, std::optional<FrameworkSummary> closing,
                                size_t end, UnittestNames& names) {
    run.close_section(end);
    const bool fits = closing && run.fits(*closing);
    FinishedRun finished;
    ModuleRecord& record = finished.record;
    record.from_text = true;
    record.framework = name_of(Framework::unittest);
    Sections(run, names, record.diagnostics).add_all();
    for (size_t i = 0; i < run.cases.size(); ++i)
        finished.progress.push_back(resolve(run.cases[i], run.outcomes[i], closing.has_value()));
    record.cases = std::move(run.cases);
    number_repeated_ids(record.cases);
    record.closing = std::move(closing);
    const std::string path =
        record.cases.empty() ? names.fallback() : std::string(module_of(record.cases.back()));
    record.path = record.cases.empty() ? path : common_module(record.cases);
    if (run.died) {
        record.cases.push_back(unnamed_row(path));
        finished.progress.push_back(Progress::started);
    }
    if (record.closing) {
        const UnnamedTests unnamed = unnamed_tests(run, record);
        if (!fits)
            doubt_unittest(record, end,
                           "the closing line counts other tests than the lines before it show");
        else
            check_totals(record, unnamed.counts, end, kUnittestAdvice);
        add_unnamed(record, path, unnamed, end, kUnittestNamesAdvice);
    }
    // Up to Python 3.10 a test whose sub-tests fail ends without a word: of those that began
    // without one, the process died in the last.
    bool last = true;
    for (size_t i = finished.progress.size(); !record.closing && i-- > 0;) {
        if (finished.progress[i] != Progress::started || std::exchange(last, false)) continue;
        finished.progress[i] = Progress::announced;
        record.cases[i].reason = kBrokenOff.detail;
    }
    finished.progress.resize(record.cases.size(), Progress::ended);
    finished.course.finished = record.closing.has_value();
    finished.course.ready = record.closing || !record.cases.empty();
    record.collected = tests_in(record.cases);
    return finished;
}

}  // namespace compat::parsers
