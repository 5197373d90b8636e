// Reads the tests of some modules of a suite in all runs of its series, module by module, and keeps
// of each test a number: tests with equal results share a history. Not for the suite as a whole
// (read_site.h).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "reports/site/site.h"
#include "runner/analysis/comparison.h"
#include "runner/site/layout.h"
#include "runner/site/series.h"
#include "runner/store/store.h"

namespace compat::site {

// A run of a series in the site's words. `report`: of the newest one; empty: none is published.
[[nodiscard]] reports::SiteRun site_run(const store::RunSummary& run, std::string report = {});

// Whether a letter of a strip (reports::strip_letter) is a state of this kind.
[[nodiscard]] bool strip_is(char letter, analysis::StateKind kind);

// A test in a series, for a page of tests. SeeTest is called for each test of each series that has
// it.
struct ReadTest {
    std::size_t cell = 0;
    std::string_view id;
    std::string_view strip;  // of all runs of the series
    const analysis::Ledger* ledger = nullptr;
    std::string_view error;  // of the newest run, where the test is broken there
    std::optional<analysis::Growth> growth;
};
using SeeTest = std::function<void(const ReadTest&)>;

class TestsReader {
  public:
    // `cells`: of the suite, one for each of `series`. They and the store outlive this.
    TestsReader(const store::Store& store, const std::vector<Series>& series,
                const std::vector<reports::SiteCell>& cells);
    // Reads which results were retried; before all other calls.
    [[nodiscard]] Expected<void> begin();
    [[nodiscard]] Expected<reports::SiteTests> read(const TestsPage& page, const SeeTest& see);

    // Kept: pages ask for the same pairs of runs.
    [[nodiscard]] Expected<ChangedBetween> changed(std::size_t cell, std::uint32_t good,
                                                   std::uint32_t bad);

  private:
    struct Known {
        std::int32_t index = -1;  // in the page's histories; -1: not there yet
        analysis::Ledger ledger;
    };
    struct Rows;  // of one module in one series
    [[nodiscard]] Expected<void> read_module(const std::string& path, const TestsPage& page,
                                             const SeeTest& see, reports::SiteTests& into);
    // The tests of `slots`, which are the module's on this page, in one series.
    [[nodiscard]] Expected<void> add_series(std::size_t cell, const Rows& rows,
                                            const std::vector<std::uint32_t>& slots,
                                            const SeeTest& see, reports::SiteTests::Module& module,
                                            reports::SiteTests& into);
    [[nodiscard]] Expected<Rows> read_rows(std::size_t cell, const std::string& path,
                                           std::unordered_map<std::int64_t, std::uint32_t>& slots);
    [[nodiscard]] Expected<std::int32_t> history(std::size_t cell, const std::string& strip,
                                                 reports::SiteTests& into);
    [[nodiscard]] Expected<void> name_runs(std::size_t cell, const analysis::Ledger& ledger,
                                           reports::SiteTests& into);

    const store::Store& store_;
    const std::vector<Series>& series_;
    const std::vector<reports::SiteCell>& cells_;
    std::vector<std::vector<std::string>> ids_;                    // by cell: of its runs
    std::vector<std::vector<std::vector<std::int64_t>>> retried_;  // by cell and run, sorted
    std::vector<std::unordered_map<std::string, Known>> known_;    // by cell: strips of the page
    std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, ChangedBetween> changes_;
    std::map<std::tuple<std::size_t, std::uint32_t, std::uint32_t>, bool> on_page_;
    std::vector<std::string> secrets_;
};

}  // namespace compat::site
