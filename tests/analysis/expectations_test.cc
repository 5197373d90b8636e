// Patterns, conditions, which entry governs, and what is as expected.
#include <gtest/gtest.h>

#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "runner/analysis/expectations/judge.h"
#include "runner/analysis/expectations/pattern.h"
#include "runner/analysis/verdict.h"

namespace compat::analysis {
namespace {

using parsers::CaseRecord;
using parsers::ModuleOutcome;
using parsers::ModuleRecord;
using parsers::State;

Expectation entry(std::string test, std::vector<std::string> expect,
                  decltype(Expectation::when) when = {}, std::string until = {}) {
    Expectation e;
    e.test = std::move(test);
    e.expect = std::move(expect);
    e.when = std::move(when);
    e.until = std::move(until);
    return e;
}

Circumstances a_run() {
    return {{{"device", "mps"},
             {"simulated", "mps"},
             {"torch", "2.13.0+cpu"},
             {"python", "3.11.7"},
             {"os", "linux"},
             {"shim", "on"}},
            "2026-11-25"};
}

CaseRecord test_of(std::string id, State state) {
    CaseRecord test;
    test.id = std::move(id);
    test.state = state;
    return test;
}

ModuleRecord module_of(std::vector<CaseRecord> cases,
                       ModuleOutcome outcome = ModuleOutcome::completed) {
    ModuleRecord record;
    record.path = "tests/a.py";
    record.framework = "unittest";
    record.outcome = outcome;
    record.cases = std::move(cases);
    return record;
}

TEST(Pattern, WildcardsCrossSeparatorsAndBracketsAreLiteral) {
    struct PatternRow {
        const char *pattern, *id;
        bool matches;
    };
    const std::vector<PatternRow> table{
        {"a.py::T::t", "a.py::T::t", true},
        {"a.py::T::t", "a.py::T::t2", false},
        {"models/bert/*::test_x", "models/bert/sub/b.py::T::test_x", true},
        {"models/bert/*::test_x", "models/bart/b.py::T::test_x", false},
        {"a.py::t[1-2]", "a.py::t[1-2]", true},
        {"a.py::t[1-2]", "a.py::t1", false},
        {"a.py::t[?]", "a.py::t[x]", true},
        {"a.py::t[?]", "a.py::t[xy]", false},
        {"*", "", true},
        {"a*b*c", "aXbYbZc", true},
        {"a*b*c", "aXbYbZ", false},
        {"", "a", false},
        {"a.py::T::t (i=*)", "a.py::T::t (i=3)", true},
    };
    for (const PatternRow& row : table)
        EXPECT_EQ(pattern_matches(row.pattern, row.id), row.matches)
            << row.pattern << " " << row.id;
}

TEST(Pattern, ManyStarsAreNotExponential) {
    EXPECT_FALSE(pattern_matches("a*a*a*a*a*a*a*a*a*a*a*a*b", std::string(5000, 'a')));
}

bool could_match_in(std::string_view pattern, std::string_view module) {
    return ModulePattern(pattern).could_match_in(module);
}

TEST(Pattern, CouldMatchInAModule) {
    EXPECT_TRUE(could_match_in("tests/a.py::T::t", "tests/a.py"));
    EXPECT_FALSE(could_match_in("tests/a.py::T::t", "tests/b.py"));
    EXPECT_TRUE(could_match_in("tests/*::t", "tests/b/c.py"));
    EXPECT_TRUE(could_match_in("*", "tests/b.py"));
    EXPECT_TRUE(could_match_in("tests/?.py::t", "tests/b.py"));
    EXPECT_TRUE(could_match_in("tests/b.py::?", "tests/b.py"));
    EXPECT_FALSE(could_match_in("other/*", "tests/b.py"));
    EXPECT_FALSE(could_match_in("tests/a.py", "tests/a.py")) << "an id goes on after the module";
    EXPECT_FALSE(could_match_in("tests/a.py::", "tests/a.py")) << "an id goes on after the module";
    EXPECT_FALSE(could_match_in("tests/a.py::t", "tests/a.pyi")) << "a longer path";
    EXPECT_TRUE(could_match_in("tests/\\*.py::t", "tests/*.py"));
    EXPECT_FALSE(could_match_in("tests/\\*.py::t", "tests/a.py"));
}

// A partial run of a large suite asks this before it starts.
TEST(Pattern, ThousandsOfEntriesAndModulesTakeNoTime) {
    constexpr int kMany = 3000;
    std::vector<std::string> modules, tests;
    for (int i = 0; i < kMany; ++i) {
        modules.push_back("tests/models/test_modeling_" + std::to_string(10000 + i) + ".py");
        tests.push_back("tests/models/test_modeling_" + std::to_string(20000 + i) + ".py::T::t");
    }
    tests.back() = modules.front() + "::T::t";
    const std::clock_t before = std::clock();
    int matches = 0;
    for (const std::string& test : tests) {
        const ModulePattern pattern(test);
        for (const std::string& module : modules) matches += pattern.could_match_in(module);
    }
    EXPECT_EQ(matches, 1);
    // Also with sanitizers. An allocation for each character takes a minute.
    EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 5.0);
}

TEST(Pattern, ABackslashEscapes) {
    struct EscapeRow {
        const char *pattern, *id;
        bool matches;
    };
    const std::vector<EscapeRow> table{
        {R"(a.py::t[\\*])", "a.py::t[*]", false},     // an escaped backslash, then a wildcard
        {R"(a.py::t[\\*])", R"(a.py::t[\x])", true},  //
        {R"(a.py::t[\*])", "a.py::t[*]", true},
        {R"(a.py::t[\*])", "a.py::t[x]", false},
        {R"(a.py::t[\?])", "a.py::t[?]", true},
        {R"(a.py::t[\?])", "a.py::t[x]", false},
        {R"(a.py::t[\u202e])", R"(a.py::t[\u202e])", true},  // before other characters: itself
        {R"(*[\*]*)", "a.py::t[*] (i=1)", true},
        {R"(a\)", R"(a\)", true},
    };
    for (const EscapeRow& row : table)
        EXPECT_EQ(pattern_matches(row.pattern, row.id), row.matches)
            << row.pattern << " " << row.id;
    EXPECT_EQ(specificity_of(R"(t[\*])"), specificity_of("t[x]"));
    EXPECT_TRUE(is_exact(R"(t[\*\?])"));
    EXPECT_FALSE(is_exact(R"(t[\\*])"));
}

TEST(Pattern, OfAnIdMatchesThisIdAlone) {
    for (const std::string id :
         {"a.py::t[*]", "a.py::t[?]", R"(a.py::t[\*])", R"(a.py::t[\\])", R"(t[\u202e])", R"(\)",
          R"(\\)", R"(\?*\)", "a.py::T::t (pattern='*.py')"}) {
        const std::string pattern = pattern_of(id);
        EXPECT_TRUE(is_exact(pattern)) << pattern;
        EXPECT_EQ(id_of(pattern), id);
        EXPECT_TRUE(pattern_matches(pattern, id)) << pattern;
        EXPECT_TRUE(is_pattern_of(pattern, id)) << pattern;
    }
    EXPECT_EQ(pattern_of(R"(t[\u202e])"), R"(t[\u202e])") << "as people read it in a report";
    EXPECT_FALSE(is_pattern_of("t[*]", "t[*]")) << "it matches others, too";
    const Expectations all({entry(R"(t[\*])", {"failed"})}, a_run());
    EXPECT_EQ(all.judge_state("t[*]", State::failed, "pytest").fit, Fit::as_expected);
    EXPECT_EQ(all.judge_state("t[x]", State::failed, "pytest").fit, Fit::unexpected_failure);
}

TEST(Conditions, Versions) {
    struct VersionRow {
        const char *version, *range;
        bool in;
    };
    const std::vector<VersionRow> table{
        {"2.13.0+cpu", ">=2.1,<2.14", true},
        {"2.13.0", ">=2.1, <2.13", false},
        {"2.13.0", "==2.13", true},
        {"2.13.1", "==2.13", false},
        {"2.13.1", "==2.13.*", true},
        {"2.14.0a0+git1", ">=2.14", true},
        {"2.9.1", "<2.10", true},
        {"2.13.0", "!=2.13.*", false},
        {"", ">=1", false},
        {"2.13.0", "", false},
        {"2.13.0", "nonsense", false},
        {"2.13.0", ">2.13", false},
        {"2.13.1", ">2.13,<=2.13.1", true},
    };
    for (const VersionRow& row : table)
        EXPECT_EQ(version_in(row.version, row.range), row.in) << row.version << " " << row.range;
}

TEST(Conditions, AllMustHoldAndOfEachOneValue) {
    const auto holds = [](decltype(Expectation::when) when) {
        return conditions_hold(entry("*", {"failed"}, std::move(when)), a_run());
    };
    EXPECT_TRUE(holds({}));
    EXPECT_TRUE(holds({{"device", {"cuda", "mps"}}, {"torch", {">=2.13"}}}));
    EXPECT_FALSE(holds({{"device", {"mps"}}, {"simulated", {"off"}}}));
    EXPECT_FALSE(holds({{"machine", {"arm64"}}})) << "the run does not say";
    EXPECT_FALSE(holds({{"no-such-condition", {"x"}}}));
}

struct Info {  // as store::RunInfo
    std::string device = "cpu", torch = "2.13.0", framework = "pytest", policy = "missing";
    std::optional<std::string> simulated = "mps";
    bool shim = true, fallback = false;
    WallTime started{Milliseconds(1'764'000'000'000)};
    std::string fingerprint =
        R"({"python": "3.12.1", "machine": "arm64", "kernel": "Darwin 24.1.0"})";
};

TEST(Conditions, AreComparedWithTheStoredRun) {
    const Circumstances run = circumstances_of(Info{});
    EXPECT_EQ(run.facts.at("device"), "mps") << "the device that the tests see";
    EXPECT_EQ(run.facts.at("simulated"), "mps");
    EXPECT_EQ(run.facts.at("os"), "macos");
    EXPECT_EQ(run.facts.at("python"), "3.12.1");
    EXPECT_EQ(run.facts.at("fallback"), "off");
    EXPECT_EQ(run.date, "2025-11-24");
    for (const ConditionRow& row : kConditions)
        EXPECT_TRUE(run.facts.contains(row.name)) << row.name;
}

TEST(Conditions, StoredEntriesComeBack) {
    Expectation e = entry("a \"b\"", {"failed", "crashed"}, {{"torch", {">=2"}}}, "2027-01-31");
    e.reason = "why";
    e.issue = "https://example.org/1";
    e.selected = false;
    EXPECT_EQ(from_stored(to_stored({e, entry("c", {"passed"})})),
              (std::vector{e, entry("c", {"passed"})}));
    EXPECT_EQ(to_stored({}), "");
    EXPECT_TRUE(from_stored("").empty());
}

TEST(Governing, TheMostSpecificEntryWins) {
    const Expectations all({entry("*", {"crashed"}, {{"device", {"mps"}}, {"os", {"linux"}}}),
                            entry("tests/*", {"failed"}), entry("tests/a.py::T::t", {"errored"}),
                            entry("tests/a.py::T::?", {"failed"}),
                            entry("tests/a.py::T::t", {"skipped"}, {{"device", {"mps"}}}),
                            entry("tests/a.py::T::t", {"timed_out"}, {{"shim", {"on"}}}),
                            entry("tests/a.py::T::t", {"passed"}, {{"shim", {"off"}}})},
                           a_run());
    const auto expected = [&](const char* id) { return all.governing(id)->expect.front(); };
    EXPECT_EQ(expected("tests/a.py::T::t"), "timed_out") << "more conditions, then the later";
    EXPECT_EQ(expected("tests/a.py::T::u"), "failed");
    EXPECT_EQ(all.governing("tests/a.py::T::u")->test, "tests/a.py::T::?");
    EXPECT_EQ(all.governing("tests/b.py::T::t")->test, "tests/*");
    EXPECT_EQ(expected("b.py::t"), "crashed");
    EXPECT_EQ(Expectations({}, a_run()).governing("x"), nullptr);
}

TEST(Judging, EachStateBesideWhatIsExpected) {
    struct StateRow {
        std::vector<std::string> expect;  // empty: no entry
        State state;
        Fit fit;
    };
    const std::vector<StateRow> table{
        {{}, State::passed, Fit::as_expected},
        {{}, State::failed, Fit::unexpected_failure},
        {{}, State::not_run, Fit::unexpected_failure},
        {{}, State::xpassed, Fit::unexpected_pass},
        {{"failed"}, State::failed, Fit::as_expected},
        {{"failed"}, State::errored, Fit::unexpected_failure},
        {{"failed", "errored"}, State::errored, Fit::as_expected},
        {{"failed"}, State::passed, Fit::unexpected_pass},
        {{"failed"}, State::xpassed, Fit::unexpected_pass},
        {{"failed"}, State::skipped, Fit::as_expected},
        {{"failed"}, State::xfailed, Fit::as_expected},
        {{"failed"}, State::not_run, Fit::unexpected_failure},
        {{"passed"}, State::failed, Fit::unexpected_failure},
        {{"passed", "failed"}, State::passed, Fit::as_expected},
        {{"crashed"}, State::crashed, Fit::as_expected},
        {{"skipped"}, State::passed, Fit::unexpected_pass},
    };
    for (const StateRow& row : table) {
        std::vector<Expectation> entries;
        if (!row.expect.empty()) entries.push_back(entry("a::t", row.expect));
        const Expectations all(std::move(entries), a_run());
        const Judged judged = all.judge(test_of("a::t", row.state), "unittest");
        EXPECT_EQ(judged.fit, row.fit)
            << name_of(row.state) << " expected " << (row.expect.empty() ? "-" : row.expect[0]);
        EXPECT_EQ(judged.entry != nullptr, !row.expect.empty());
    }
}

TEST(Judging, SubtestsAreIdsOfTheirOwn) {
    CaseRecord test = test_of("a::t", State::failed);
    test.call_state = State::passed;
    test.subcases = {{"(i=1)", State::failed, {}, {}}, {"(i=2)", State::passed, {}, {}}};
    const auto fit = [&](std::vector<Expectation> entries) {
        return Expectations(std::move(entries), a_run()).judge(test, "unittest").fit;
    };
    EXPECT_EQ(fit({}), Fit::unexpected_failure);
    EXPECT_EQ(fit({entry("a::t (i=1)", {"failed"})}), Fit::as_expected);
    EXPECT_EQ(fit({entry("a::t", {"failed"})}), Fit::as_expected);
    EXPECT_EQ(fit({entry("a::t (i=1)", {"errored"})}), Fit::unexpected_failure);
    EXPECT_EQ(fit({entry("a::t (i=*)", {"failed"})}), Fit::unexpected_pass)
        << "(i=2) was expected to fail, too";
    test.subcases[1].state = State::failed;
    EXPECT_EQ(fit({entry("a::t (i=1)", {"failed"})}), Fit::unexpected_failure);
    test.failure = parsers::Failure{};
    EXPECT_EQ(fit({entry("a::t (i=*)", {"failed"})}), Fit::unexpected_failure)
        << "the test broke outside its sub-tests";
}

TEST(Judging, AModulesEndIsExplainedByItsTests) {
    const Expectations all(
        {entry("tests/a.py::T::dies", {"crashed"}), entry("tests/a.py::<module>", {"errored"})},
        a_run());
    const auto code = [&](const ModuleRecord& record) {
        RunFacts facts;
        add(facts, record, all);
        return exit_code(facts);
    };
    CaseRecord load = test_of("tests/a.py::<module>", State::errored);
    load.pseudo = true;
    EXPECT_EQ(code(module_of({load}, ModuleOutcome::load_error)), ExitCode::ok);
    EXPECT_EQ(
        code(module_of({test_of("tests/a.py::T::dies", State::crashed)}, ModuleOutcome::crashed)),
        ExitCode::ok);
    EXPECT_EQ(code(module_of({test_of("tests/a.py::T::dies", State::crashed),
                              test_of("tests/a.py::T::too", State::crashed)},
                             ModuleOutcome::crashed)),
              ExitCode::unexpected_results);
    EXPECT_EQ(code(module_of({test_of("tests/a.py::T::t", State::passed)}, ModuleOutcome::crashed)),
              ExitCode::unexpected_results)
        << "nothing shows where it crashed";
}

TEST(Tally, CountsAndNotes) {
    auto partial = entry("tests/a.py::T::elsewhere*", {"failed"});
    partial.selected = false;
    const Expectations all(
        {entry("tests/a.py::T::f", {"failed"}), entry("tests/a.py::T::fixed*", {"failed"}),
         entry("tests/a.py::T::gone", {"failed"}),
         entry("tests/a.py::T::old", {"failed"}, {}, "2026-11-24"),
         entry("tests/a.py::T::today", {"failed"}, {}, "2026-11-25"),
         entry("tests/a.py::T::cuda", {"failed"}, {{"device", {"cuda"}}}), partial,
         entry("tests/b.py::T::t", {"failed"})},
        a_run());
    ExpectationTally tally(all);
    tally.add(module_of({test_of("tests/a.py::T::f", State::failed),
                         test_of("tests/a.py::T::fixed1", State::passed),
                         test_of("tests/a.py::T::fixed2", State::passed),
                         test_of("tests/a.py::T::old", State::failed),
                         test_of("tests/a.py::T::today", State::failed)}));
    ModuleRecord never = module_of({}, ModuleOutcome::not_run);
    never.path = "tests/b.py";
    tally.add(never);
    const auto failed = static_cast<size_t>(State::failed);
    EXPECT_EQ(tally.expected()[failed], 2);
    EXPECT_EQ(tally.unexpected(Fit::unexpected_failure)[failed], 1) << "the expired one";
    EXPECT_EQ(tally.unexpected(Fit::unexpected_pass)[static_cast<size_t>(State::passed)], 2);
    std::vector<std::pair<EntryNote::Kind, size_t>> notes;
    for (const EntryNote& note : tally.notes()) notes.emplace_back(note.kind, note.entry);
    using enum EntryNote::Kind;
    EXPECT_EQ(notes, (std::vector<std::pair<EntryNote::Kind, size_t>>{
                         {stale, 1}, {unmatched, 2}, {expired, 3}}));
}

}  // namespace
}  // namespace compat::analysis
