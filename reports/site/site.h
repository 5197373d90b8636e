// The pages of a site as values: all suites, one suite, the tests of some of its modules; and their
// JSON, which the page shows (html/web/src/site.ts). Addresses are relative to the site's folder.
// Not for reading runs (runner/site) nor for one run's report (model.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/gaps.h"
#include "reports/html/chunks.h"
#include "reports/model.h"
#include "runner/analysis/changes/environment.h"
#include "runner/analysis/ledger.h"

namespace compat::reports {

// Which tests a pass rate counts.
enum class RateOf { exercised, ran };
inline constexpr std::array<std::string_view, 2> kRateNames{"exercised", "ran"};

struct SiteRate {
    RateOf of = RateOf::ran;
    std::int64_t good = 0, total = 0;
    friend bool operator==(const SiteRate&, const SiteRate&) = default;
};

struct SiteRun {
    std::string id;
    WallTime started{};
    std::string torch, commit;  // may be empty
    std::string report;         // address of its published report; empty: none
    SiteRate rate;
    StateCounts states{};
    double duration_s = 0;
};

// Facts about one of a series' newest runs beside its counts.
struct SiteRunTrend {
    std::int64_t flaky = 0;  // passed only when retried
    std::int64_t new_signatures = 0, gone_signatures = 0;
    std::int64_t gaps_opened = 0, gaps_closed = 0;
    std::map<std::string, std::int64_t> causes;  // broken tests by cause
};

// A series: a cell of the matrix.
struct SiteCell {
    std::string suite, page;  // the suite, and the address of its page
    std::string column, torch, way, series;
    std::string badge;       // address
    std::string unfinished;  // a newer run that is not complete
    SiteRun now;
    std::optional<SiteRun> before;
    // Filled by a page that reads tests; else 0.
    std::int64_t broke = 0, fixed = 0, flaky = 0, added = 0, gone = 0;
};

struct SiteTest {
    std::size_t cell = 0;
    std::string id;
    std::string page;   // address of the page that has its runs
    std::string error;  // of its newest broken result; may be empty
};

// Tests of a cell that broke in the same run and are broken since.
struct SiteBreak {
    std::size_t cell = 0;
    std::string first_bad, last_good;  // ids of runs; last_good may be empty
    WallTime since{};
    bool is_newest = false;  // it broke in the newest run
    std::string commit_before, commit;
    bool known = true;  // the environments of both runs
    std::vector<analysis::EnvironmentChange> environment;
    std::int64_t tests = 0;
    std::vector<SiteTest> first;  // of them
};

struct SiteFlaky {
    SiteTest test;
    std::uint32_t flaky = 0, window = 0;  // as in Ledger
    std::string strip;                    // as in SiteHistory, the newest runs
};
struct SiteGrowth {
    SiteTest test;
    double before_s = 0, now_s = 0;
};
struct SiteSignature {
    std::size_t cell = 0;
    std::string signature, cause, key_line;
    std::string example;  // id of a test
    std::int64_t tests = 0;
};

// A cell of the newest night that has no run.
struct SiteProblem {
    std::string suite, column, torch, why;
};

// Two versions of torch in the newest night.
struct SiteTorchPair {
    struct Test {
        std::string id, change;                // "regressed"
        std::string older, newer;              // states; empty: not there
        std::string older_error, newer_error;  // may be empty
    };
    std::string suite, column, older, newer;  // versions
    std::vector<Test> tests;
};

struct SiteView {
    std::vector<SiteCell> cells;
    std::vector<SiteProblem> problems;
    std::vector<SiteTorchPair> torch_pairs;
    std::vector<SiteBreak> breaks;        // newest first
    std::vector<SiteTest> fixed;          // in the newest run of their cell
    std::vector<SiteFlaky> flaky;         // by rate
    std::vector<SiteGrowth> growth;       // by seconds
    std::vector<SiteSignature> appeared;  // in the newest run of their cell, not in the run before
    std::vector<SiteSignature> vanished;  // the other way round
    std::vector<GapView> gaps;
    std::vector<SiteRunTrend> trends,
        trends_before;  // by cell: of the newest run, of the one before
};

struct SiteModule {
    std::string path, page;  // address of the page with its tests
    struct Counts {
        bool there = false;
        SiteRate rate;
        std::int64_t tests = 0, broken = 0;
        double seconds = 0;
    };
    std::vector<Counts> cells;  // by cell of the suite
};
struct SuiteView {
    std::string suite;
    std::vector<SiteCell> cells;
    std::vector<SiteModule> modules;
    struct Point {
        SiteRun run;
        SiteRunTrend trend;
    };
    std::vector<std::vector<Point>> history;  // by cell, oldest first
};

// Shared by all tests with equal results in a series.
struct SiteHistory {
    std::string strip;  // a letter a run (strip_letter); " ": the run does not have the test
    analysis::Ledger ledger;
    bool current = true;  // the newest run has the test
};
// "F" failed; "r": passed only when retried.
[[nodiscard]] char strip_letter(parsers::State state, bool retried);

struct SiteTests {
    std::string suite, page;
    std::vector<std::string> parts;  // addresses, if several pages share one module
    std::vector<SiteCell> cells;
    std::vector<std::vector<SiteRun>> runs;  // by cell: the first of the strips, and all after it
    std::vector<std::uint32_t> first_run;    // by cell: its index in the series
    // By cell and index of a run that a ledger names and `runs` lacks.
    std::vector<std::map<std::uint32_t, SiteRun>> older;
    struct Changed {
        std::size_t cell = 0;
        std::uint32_t good = 0, bad = 0;  // runs
        bool known = true;
        std::vector<analysis::EnvironmentChange> environment;
    };
    std::vector<Changed> changed;
    std::vector<SiteHistory> histories;
    struct Module {
        std::string path;
        std::vector<std::string> tests;                            // ids
        std::vector<std::vector<std::int32_t>> histories;          // by cell and test; -1: none
        std::vector<std::map<std::uint32_t, std::string>> errors;  // by cell: test to key line
    };
    std::vector<Module> modules;
};

// `root`: how a link to the site's folder begins, as "../../"; empty: the page is there.
void site_parts(const SiteView& view, const PartSink& sink);
void suite_parts(const SuiteView& view, const PartSink& sink);
void tests_parts(const SiteTests& view, const PartSink& sink);

// An SVG image: the pass rate of a cell and a colour for it.
[[nodiscard]] std::string badge_svg(const SiteCell& cell);

}  // namespace compat::reports
