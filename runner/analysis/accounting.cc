#include "runner/analysis/accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "parsers/framework_summary.h"
#include "parsers/outcomes.h"
#include "parsers/text.h"
#include "runner/analysis/marks.h"
#include "runner/base/framework.h"

namespace compat::analysis {

namespace {
using parsers::add_outcomes;
using parsers::CaseRecord;
using parsers::count_in;
using parsers::counted_words;
using parsers::CountedWord;
using parsers::FrameworkSummary;
using parsers::ModuleRecord;
using parsers::Phase;
using parsers::State;

// An attribute of a JUnit XML file (parsers/import/junit/junit_xml.h).
constexpr std::string_view kTests = "tests";

constexpr std::string_view kRan = "ran";
constexpr std::string_view kEvents = "events";

std::int64_t& at(StateCounts& counts, State state) { return counts[static_cast<size_t>(state)]; }

// Such a framework counts each test that it began once: as passed, skipped or failed.
bool counts_tests(std::string_view framework) {
    const FrameworkTraits* traits = traits_of(framework);
    return traits && traits->counts_tests_begun;
}

// GoogleTest counts a test that a global set-up prevented as one that ran and passed.
bool is_prevented_by_setup(const CaseRecord& c, std::string_view framework) {
    return is_framework(framework, Framework::gtest) && !c.pseudo && !c.started &&
           c.phase == Phase::module_setup;
}

void tally_test(StateCounts& counts, const CaseRecord& c, std::string_view framework) {
    if (is_prevented_by_setup(c, framework)) {
        ++at(counts, State::passed);
        return;
    }
    if (!c.started) return;
    const bool good = c.state == State::passed || c.state == State::skipped;
    ++at(counts, good ? c.state : State::failed);
}

bool is_under_fixture(const CaseRecord& c) {
    return !c.pseudo && !c.started &&
           (c.phase == Phase::class_setup || c.phase == Phase::module_setup);
}

// The class of a class set-up; empty for a module set-up.
std::string_view fixture_of(const CaseRecord& c) {
    if (c.phase == Phase::module_setup) return {};
    return std::string_view(c.id).substr(0, c.id.rfind("::"));
}

// unittest runs the tests of a class one after the other and reports a broken set-up once, so its
// tests are neighbours.
bool same_fixture(const CaseRecord& a, const CaseRecord& b) {
    return is_under_fixture(a) && is_under_fixture(b) && a.phase == b.phase &&
           fixture_of(a) == fixture_of(b);
}

// pytest's totals leave out a broken session, GoogleTest's leave out failures outside of tests.
bool is_in_totals(const CaseRecord& c, std::string_view framework) {
    return !c.pseudo || (!counts_tests(framework) && !c.id.ends_with("::<session>"));
}

StateCounts counted_by_framework(const ModuleRecord& record) {
    StateCounts counts{};
    const CaseRecord* before = nullptr;
    for (const CaseRecord& c : record.cases) {
        if (counts_tests(record.framework)) {
            tally_test(counts, c, record.framework);
            continue;
        }
        if (!is_in_totals(c, record.framework)) continue;
        const bool once = is_framework(record.framework, Framework::unittest) && before &&
                          same_fixture(*before, c);
        if (!once) add_outcomes(counts, c, record.framework);
        before = &c;
    }
    return counts;
}

std::string text_of(const FrameworkSummary& closing) {
    std::string text = closing.ran ? fmt::format("Ran {}", *closing.ran) : std::string();
    for (const auto& [word, count] : closing.counts)
        if (count > 0) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", word, count);
    return text;
}

bool is_junit(const FrameworkSummary& closing) {
    return std::any_of(closing.counts.begin(), closing.counts.end(),
                       [](const auto& count) { return count.first == kTests; });
}

// unittest's file has elements only for the sub-tests of such a test, none for the test.
bool has_only_subtest_elements(const CaseRecord& c) {
    return !c.subcases.empty() && c.call_state == State::passed;
}

// Our own file counts each test once.
bool is_uncounted_attempt(const CaseRecord& attempt) {
    return attempt.failure && attempt.failure->counted == State::passed;
}

// The totals of a file: of all outcomes, or of each test once by its state.
FrameworkSummary junit_totals(const ModuleRecord& record, bool by_outcome) {
    const bool by_pytest = is_framework(record.framework, Framework::pytest);
    StateCounts counts{};
    parsers::LeftOutTearDowns left_out;
    std::int64_t uncounted = 0;
    std::int64_t disabled = 0;
    const auto count = [&](const CaseRecord& c, bool is_earlier) {
        if (by_pytest) {
            add_pytest_xml_outcomes(counts, c, is_earlier);
            add_left_out(left_out, c);
        } else if (!is_earlier || !is_uncounted_attempt(c)) {
            add_outcomes(counts, c, record.framework);
        }
    };
    for (const CaseRecord& c : record.cases) {
        if (!is_in_totals(c, record.framework)) continue;
        if (!by_outcome) {
            if (is_prevented_by_setup(c, record.framework)) {
                ++at(counts, State::passed);
                continue;
            }
            ++at(counts, c.state);
            disabled += !c.started && c.state == State::skipped ? 1 : 0;
            continue;
        }
        for (const CaseRecord& attempt : c.earlier) count(attempt, true);
        count(c, false);
        uncounted += !by_pytest && has_only_subtest_elements(c);
    }
    // The least: a surplus is no mismatch.
    uncounted += std::max(left_out.after_failure, left_out.after_other);
    const auto sum = [&](std::initializer_list<State> states) {
        std::int64_t all = 0;
        for (const State state : states) all += at(counts, state);
        return all;
    };
    std::int64_t tests = -uncounted;
    for (const std::int64_t count : counts) tests += count;
    const std::int64_t failures = sum({State::failed, State::crashed, State::timed_out});
    std::int64_t errors = sum({State::errored});
    // Disabled tests have their own attribute.
    std::int64_t skipped = sum({State::skipped, State::xfailed}) - disabled;
    if (is_framework(record.framework, Framework::unittest)) errors += at(counts, State::xpassed);
    if (is_framework(record.framework, Framework::ctest)) skipped += std::exchange(errors, 0);
    return {.text = {},
            .ran = {},
            .counts = {{std::string(kTests), tests},
                       {"failures", failures},
                       {"errors", errors},
                       {"skipped", skipped}}};
}

// Differences that a log's text cannot avoid: it lacks the Python version (3.12.1 leaves skipped
// tests out of `Ran`), and JUnit XML of pytest the sub-tests that passed, for which the reader has
// a diagnostic.
bool hidden_in_text(const ModuleRecord& record, std::string_view word, std::int64_t ours,
                    std::int64_t theirs) {
    if (!record.from_text) return false;
    if (word == kRan) {
        const auto skipped = std::count_if(
            record.cases.begin(), record.cases.end(),
            [](const CaseRecord& c) { return c.started && c.state == State::skipped; });
        return theirs < ours && ours - theirs <= skipped;
    }
    return word == kTests && is_framework(record.framework, Framework::pytest) && theirs > ours;
}

// An unknown writer counts each test or each outcome: both are accepted.
void compare_junit(const ModuleRecord& record, std::vector<Mismatch>& into) {
    if (!record.finished) return;
    const auto ours = expected_closing(record);
    const FrameworkSummary by_test = junit_totals(record, false);
    const bool either = record.framework == "junit";
    // A failure that was allowed may be in any of its totals, and a row that is no test in none.
    const auto vague =
        std::count_if(record.cases.begin(), record.cases.end(), [](const CaseRecord& c) {
            return c.state == State::xfailed || (c.pseudo && c.phase == Phase::load);
        });
    for (const auto& [word, theirs] : record.closing->counts) {
        const std::int64_t mine = count_in(*ours, word);
        const std::int64_t other = count_in(by_test, word);
        const bool agrees =
            mine == theirs ||
            (either &&
             (other == theirs ||
              (theirs >= std::min(mine, other) - vague &&
               theirs <= std::max(mine, other) + (word == kTests ? 0 : vague) && vague > 0)));
        if (!agrees && !hidden_in_text(record, word, mine, theirs))
            into.push_back({word, mine, theirs});
    }
}

void compare_closing(const ModuleRecord& record, std::vector<Mismatch>& into) {
    // The reader of a log without names has compared the sums (parsers/import/doubt.h).
    if (!record.closing || std::ranges::any_of(record.cases, parsers::is_unnamed)) return;
    if (is_junit(*record.closing)) return compare_junit(record, into);
    // So has that of pytest's, where reruns and sub-tests count that have no line.
    if (record.from_text && is_framework(record.framework, Framework::pytest)) return;
    const auto ours = expected_closing(record);
    if (!ours) return;
    const FrameworkSummary& theirs = *record.closing;
    const StateCounts optional = parsers::optional_outcomes(record);
    const auto compare = [&](std::string_view word, std::int64_t mine, std::int64_t other) {
        if (mine != other && !hidden_in_text(record, word, mine, other))
            into.push_back({std::string(word), mine, other});
    };
    if (ours->ran && theirs.ran) compare(kRan, *ours->ran, *theirs.ran);
    for (const auto& [word, state] : counted_words(record.framework)) {
        const std::int64_t mine = count_in(*ours, word), other = count_in(theirs, word);
        compare(word, std::clamp(other, mine, mine + optional[state]), other);
    }
}

bool is_of_diagnostic(std::string_view what) {
    return what.starts_with(parsers::kAmbiguous) || what.starts_with(parsers::kContradiction);
}

}  // namespace

std::string Mismatch::text() const {
    if (is_of_diagnostic(what)) return fmt::format("byte {}: {}", ours, what);
    if (what == kEvents)
        return fmt::format("the log breaks off after {} tests, without a closing line", ours);
    if (what == "collected")
        return fmt::format("{} tests have a result, {} were collected", ours, theirs);
    return fmt::format("{}: {} by its tests, {} by the framework's closing line", what, ours,
                       theirs);
}

std::optional<FrameworkSummary> expected_closing(const ModuleRecord& record) {
    if (record.finished && record.closing && is_junit(*record.closing)) {
        FrameworkSummary closing = junit_totals(record, !counts_tests(record.framework));
        closing.text = text_of(closing);
        return closing;
    }
    const std::span<const CountedWord> words = counted_words(record.framework);
    if (!record.finished || words.empty()) return std::nullopt;
    StateCounts counts = counted_by_framework(record);
    FrameworkSummary closing;
    if (!is_framework(record.framework, Framework::pytest))
        closing.ran =
            std::count_if(record.cases.begin(), record.cases.end(), [&](const CaseRecord& c) {
                return c.started || is_prevented_by_setup(c, record.framework);
            });
    for (const CountedWord& known : words)
        closing.counts.emplace_back(std::string(known.word), at(counts, known.state));
    closing.text = text_of(closing);
    return closing;
}

ModuleAccounting account(const ModuleRecord& record) {
    ModuleAccounting result;
    result.collected = record.collected;
    for (const CaseRecord& c : record.cases) at(result.states, c.state) += c.tests;
    const std::int64_t sum = parsers::tests_in(record.cases);
    if (sum != record.collected) result.mismatches.push_back({"collected", sum, record.collected});
    // A log that is cut off may lack tests. A log without any test may be complete: the module
    // crashed at once, or could not be loaded.
    const bool has_test = std::any_of(record.cases.begin(), record.cases.end(),
                                      [](const CaseRecord& c) { return !c.pseudo; });
    const bool cut_off = record.outcome == parsers::ModuleOutcome::interrupted ||
                         record.outcome == parsers::ModuleOutcome::not_run;
    if (record.from_text && !record.finished && (has_test || cut_off))
        result.mismatches.push_back({std::string(kEvents), sum, 0});
    compare_closing(record, result.mismatches);
    for (const parsers::Diagnostic& said : record.diagnostics)
        if (is_of_diagnostic(said.message))
            result.mismatches.push_back({said.message, said.offset, 0});
    return result;
}

void add(Totals& totals, const ModuleRecord& record, std::int64_t flaky) {
    ++totals.modules;
    totals.collected += record.collected;
    totals.flaky += flaky;
    for (const CaseRecord& c : record.cases) {
        at(totals.states, c.state) += c.tests;
        ++at(totals.rows, c.state);
    }
    for (const Marks& marks : marks_of(record)) {
        totals.device += marks.device;
        totals.fallback += marks.fallback;
        totals.race += marks.race;
        totals.redirected += marks.redirected;
        totals.untouched += marks.untouched;
        totals.generated += marks.generated;
    }
}

}  // namespace compat::analysis
