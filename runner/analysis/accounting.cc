#include "runner/analysis/accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "parsers/closing.h"
#include "runner/analysis/marks.h"
#include "runner/base/framework.h"

namespace compat::analysis {

namespace {
using parsers::CaseRecord;
using parsers::Closing;
using parsers::count_in;
using parsers::Failure;
using parsers::ModuleRecord;
using parsers::Phase;
using parsers::State;

// A framework's word for each state, in the order in which it prints them.
struct CountedAs {
    std::string_view word;
    State state;
};
constexpr std::array<CountedAs, 5> kUnittestWords{{
    {"failures", State::failed},
    {"errors", State::errored},
    {"skipped", State::skipped},
    {"expected failures", State::xfailed},
    {"unexpected successes", State::xpassed},
}};
constexpr std::array<CountedAs, 6> kPytestWords{{
    {"failed", State::failed},
    {"passed", State::passed},
    {"skipped", State::skipped},
    {"xfailed", State::xfailed},
    {"xpassed", State::xpassed},
    {"errors", State::errored},
}};

constexpr std::array<CountedAs, 3> kGtestWords{{
    {"passed", State::passed},
    {"skipped", State::skipped},
    {"failed", State::failed},
}};
// Its line says what passed in per cent alone, what it skipped among it.
constexpr std::array<CountedAs, 1> kCtestWords{{{"failed", State::failed}}};

// The totals of a JUnit XML file, by their attributes' names (parsers/junit_xml.h).
constexpr std::string_view kTests = "tests";

constexpr std::string_view kRan = "ran";
constexpr std::string_view kEvents = "events";

std::span<const CountedAs> words_of(std::string_view framework) {
    const auto known = framework_of(framework);
    if (!known) return {};
    switch (*known) {
        case Framework::unittest:
            return kUnittestWords;
        case Framework::pytest:
            return kPytestWords;
        case Framework::gtest:
            return kGtestWords;
        case Framework::ctest:
            return kCtestWords;
    }
    return {};
}

std::int64_t& at(StateCounts& counts, State state) { return counts[static_cast<size_t>(state)]; }

bool is_broken(State state) { return state == State::failed || state == State::errored; }

// As the framework counted a failure that is not the case's first.
State counted(const Failure& failure, std::string_view framework) {
    if (failure.counted) return *failure.counted;
    if (is_framework(framework, Framework::pytest))
        return failure.phase == Phase::call ? State::failed : State::errored;
    return failure.type == "AssertionError" ? State::failed : State::errored;
}

// The outcomes that the framework itself counted for one case.
void tally(StateCounts& counts, const CaseRecord& c, std::string_view framework) {
    const State own = c.call_state.value_or(c.state);
    bool own_counted = false;
    const auto count = [&](const Failure& failure, State state) {
        if (!is_broken(state) && state != State::xfailed) return;
        ++at(counts, state);
        // A broken tear-down that was expected is counted beside what the call came to.
        const bool is_excuse = state == State::xfailed && failure.phase == Phase::teardown;
        own_counted = own_counted || (state == own && !is_excuse);
    };
    if (c.failure) count(*c.failure, c.failure->counted.value_or(c.state));
    for (const Failure& more : c.also) count(more, counted(more, framework));
    if (!own_counted) ++at(counts, own);
    for (const parsers::SubCase& sub : c.subcases)
        if (is_broken(sub.state) || sub.state == State::skipped) ++at(counts, sub.state);
}

// GoogleTest and CTest count each test that they began once: whatever became of it but for a pass
// or a skip is a failure.
bool counts_tests(std::string_view framework) {
    const FrameworkTraits* traits = traits_of(framework);
    return traits && traits->counts_tests_begun;
}

// GoogleTest counts the tests that a global set-up kept from beginning among those that ran, and as
// passed.
bool is_kept_from_beginning(const CaseRecord& c, std::string_view framework) {
    return is_framework(framework, Framework::gtest) && !c.pseudo && !c.started &&
           c.phase == Phase::module_setup;
}

void tally_test(StateCounts& counts, const CaseRecord& c, std::string_view framework) {
    if (is_kept_from_beginning(c, framework)) {
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

// A class set-up belongs to its class, a module set-up to all.
std::string_view fixture_of(const CaseRecord& c) {
    if (c.phase == Phase::module_setup) return {};
    return std::string_view(c.id).substr(0, c.id.rfind("::"));
}

// unittest runs the tests of a class one after the other, so that a broken set-up's tests lie side
// by side, and reports the set-up once.
bool same_fixture(const CaseRecord& a, const CaseRecord& b) {
    return is_under_fixture(a) && is_under_fixture(b) && a.phase == b.phase &&
           fixture_of(a) == fixture_of(b);
}

// A session that broke is in none of pytest's totals, what broke outside of tests in none of
// GoogleTest's.
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
        if (!once) tally(counts, c, record.framework);
        before = &c;
    }
    return counts;
}

std::string text_of(const Closing& closing) {
    std::string text = closing.ran ? fmt::format("Ran {}", *closing.ran) : std::string();
    for (const auto& [word, count] : closing.counts)
        if (count > 0) text += fmt::format("{}{}={}", text.empty() ? "" : ", ", word, count);
    return text;
}

bool is_junit(const Closing& closing) {
    return std::any_of(closing.counts.begin(), closing.counts.end(),
                       [](const auto& count) { return count.first == kTests; });
}

// What is a pass for itself, though a file of unittest's has no element for it: a test of whose
// sub-tests alone it tells.
bool is_told_by_subtests(const CaseRecord& c) {
    return !c.subcases.empty() && c.call_state == State::passed;
}

// pytest opens a second element for a tear-down that breaks after a failed call, and leaves it out
// of `tests`.
bool is_double(const CaseRecord& c) {
    return c.failure && c.failure->phase == Phase::call &&
           std::any_of(c.also.begin(), c.also.end(),
                       [](const Failure& f) { return f.phase == Phase::teardown; });
}

// The totals of a file: each outcome counted, or each test once by its state.
Closing junit_totals(const ModuleRecord& record, bool by_outcome) {
    StateCounts counts{};
    std::int64_t beside = 0;
    std::int64_t disabled = 0;
    for (const CaseRecord& c : record.cases) {
        if (!is_in_totals(c, record.framework)) continue;
        if (!by_outcome) {
            ++at(counts, c.state);
            disabled += !c.started && c.state == State::skipped ? 1 : 0;
            continue;
        }
        tally(counts, c, record.framework);
        const bool twice = is_framework(record.framework, Framework::pytest)
                               ? is_double(c)
                               : is_told_by_subtests(c);
        beside += twice ? 1 : 0;
    }
    const auto sum = [&](std::initializer_list<State> states) {
        std::int64_t all = 0;
        for (const State state : states) all += at(counts, state);
        return all;
    };
    std::int64_t tests = -beside;
    for (const std::int64_t count : counts) tests += count;
    const std::int64_t failures = sum({State::failed, State::crashed, State::timed_out});
    std::int64_t errors = sum({State::errored});
    // What is disabled stands under a word of its own.
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

// What a log's text leaves out and its closing line tells all the same: the version of Python
// (3.12.1 leaves skipped tests out of `Ran`), the sub-tests that pytest skipped, and in JUnit XML
// those that passed: its reader has a diagnostic for them.
bool hidden_in_text(const ModuleRecord& record, std::string_view word, std::int64_t ours,
                    std::int64_t theirs) {
    if (!record.from_text) return false;
    if (word == kRan) {
        const auto skipped = std::count_if(
            record.cases.begin(), record.cases.end(),
            [](const CaseRecord& c) { return c.started && c.state == State::skipped; });
        return theirs < ours && ours - theirs <= skipped;
    }
    if (word == kTests) return is_framework(record.framework, Framework::pytest) && theirs > ours;
    const auto& counts = record.closing->counts;
    return word == "skipped" && theirs > ours &&
           std::any_of(counts.begin(), counts.end(),
                       [](const auto& count) { return count.first == "subtests passed"; });
}

// Word for word, as often as the file has it. Who else writes such files counts each test or each
// outcome: either is right.
void compare_junit(const ModuleRecord& record, std::vector<Mismatch>& into) {
    if (!record.finished) return;
    const auto ours = expected_closing(record);
    const Closing by_test = junit_totals(record, false);
    const bool either = record.framework == "junit";
    for (const auto& [word, theirs] : record.closing->counts) {
        const std::int64_t mine = count_in(*ours, word);
        const bool right = mine == theirs || (either && count_in(by_test, word) == theirs);
        if (!right && !hidden_in_text(record, word, mine, theirs))
            into.push_back({word, mine, theirs});
    }
}

void compare_closing(const ModuleRecord& record, std::vector<Mismatch>& into) {
    if (!record.closing) return;
    if (is_junit(*record.closing)) return compare_junit(record, into);
    const auto ours = expected_closing(record);
    if (!ours) return;
    const Closing& theirs = *record.closing;
    const auto compare = [&](std::string_view word, std::int64_t mine, std::int64_t other) {
        if (mine != other && !hidden_in_text(record, word, mine, other))
            into.push_back({std::string(word), mine, other});
    };
    if (ours->ran && theirs.ran) compare(kRan, *ours->ran, *theirs.ran);
    for (const auto& [word, count] : ours->counts) compare(word, count, count_in(theirs, word));
}

}  // namespace

std::string Mismatch::text() const {
    if (what == kEvents)
        return fmt::format("its log is all there is of it, and breaks off after {} tests", ours);
    if (what == "collected") return fmt::format("{} in one state each, {} collected", ours, theirs);
    return fmt::format("{}: {} by its tests, {} by the framework's closing line", what, ours,
                       theirs);
}

std::optional<Closing> expected_closing(const ModuleRecord& record) {
    if (record.finished && record.closing && is_junit(*record.closing)) {
        Closing closing = junit_totals(record, !counts_tests(record.framework));
        closing.text = text_of(closing);
        return closing;
    }
    const std::span<const CountedAs> words = words_of(record.framework);
    if (!record.finished || words.empty()) return std::nullopt;
    StateCounts counts = counted_by_framework(record);
    Closing closing;
    if (!is_framework(record.framework, Framework::pytest))
        closing.ran =
            std::count_if(record.cases.begin(), record.cases.end(), [&](const CaseRecord& c) {
                return c.started || is_kept_from_beginning(c, record.framework);
            });
    for (const CountedAs& known : words)
        closing.counts.emplace_back(std::string(known.word), at(counts, known.state));
    closing.text = text_of(closing);
    return closing;
}

ModuleAccounting account(const ModuleRecord& record) {
    ModuleAccounting result;
    result.collected = record.collected;
    for (const CaseRecord& c : record.cases) ++at(result.states, c.state);
    const auto sum = static_cast<std::int64_t>(record.cases.size());
    if (sum != record.collected) result.mismatches.push_back({"collected", sum, record.collected});
    // What a log does not tell to its end may have had tests that it does not name. Where nothing
    // was told, why it ended may explain that: it crashed, it could not be loaded.
    const bool told = std::any_of(record.cases.begin(), record.cases.end(),
                                  [](const CaseRecord& c) { return !c.pseudo; });
    const bool cut_off = record.outcome == parsers::ModuleOutcome::interrupted ||
                         record.outcome == parsers::ModuleOutcome::not_run;
    if (record.from_text && !record.finished && (told || cut_off))
        result.mismatches.push_back({std::string(kEvents), sum, 0});
    compare_closing(record, result.mismatches);
    return result;
}

void add(Totals& totals, const ModuleRecord& record, std::int64_t flaky) {
    ++totals.modules;
    totals.collected += record.collected;
    totals.flaky += flaky;
    for (const CaseRecord& c : record.cases) ++at(totals.states, c.state);
    for (const Marks& marks : marks_of(record)) {
        totals.device += marks.device;
        totals.fallback += marks.fallback;
        totals.redirected += marks.redirected;
        totals.untouched += marks.untouched;
    }
}

}  // namespace compat::analysis
