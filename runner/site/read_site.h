// Reads what a site shows from the store: all suites, one suite, the tests of its modules. The
// pages written to a folder and those of `serve` are the same. Not for files (write_site.h) nor for
// addresses (layout.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "reports/site/site.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/site/layout.h"
#include "runner/site/read_tests.h"
#include "runner/store/store.h"

namespace compat::site {

// A suite of a site.
struct SiteSuite {
    std::string name, folder;  // "suites/gpytorch/"
    std::vector<Series> series;
    std::vector<reports::SiteCell> cells;  // one for each series
    std::size_t first_cell = 0;            // its first cell in the site's matrix
    std::vector<TestsPage> pages;
};

// A badge: the cell of a column, of its newest torch or of a named one.
struct SiteBadge {
    std::string file;  // "badge/gpytorch/cuda-simulated.svg"
    std::size_t suite = 0, cell = 0;
};

// Reads one snapshot of a store, which outlives it.
class SiteReader {
  public:
    // `results`: the folder of the store. Errors: those of the store.
    [[nodiscard]] static Expected<SiteReader> open(const store::Store& store, fs::path results);

    [[nodiscard]] const std::vector<SiteSuite>& suites() const { return suites_; }
    [[nodiscard]] const std::vector<SiteBadge>& badges() const { return badges_; }
    // Folders of the runs whose report is published, by the run's id.
    [[nodiscard]] const std::map<std::string, fs::path>& published() const { return published_; }

    // Takes each page of tests, named as "suites/gpytorch/tests-0.html"; empty: none is wanted.
    using SeePage =
        std::function<Expected<void>(const std::string& name, const reports::SiteTests& page)>;
    // Reads every test of every suite, in the memory of one page.
    [[nodiscard]] Expected<reports::SiteView> matrix(const SeePage& see = {});
    [[nodiscard]] Expected<reports::SuiteView> suite(const SiteSuite& suite) const;
    [[nodiscard]] Expected<reports::SiteTests> tests(const SiteSuite& suite,
                                                     const TestsPage& page) const;

  private:
    SiteReader(const store::Store& store, fs::path results)
        : store_(store), results_(std::move(results)) {}
    [[nodiscard]] Expected<void> read_pages(SiteSuite& suite) const;
    [[nodiscard]] Expected<reports::SiteRunTrend> trend(const std::string& run,
                                                        const std::string& before) const;
    void name_badges(std::vector<SiteSuite>& suites);

    const store::Store& store_;
    fs::path results_;
    std::vector<SiteSuite> suites_;
    std::vector<SiteBadge> badges_;
    std::map<std::string, fs::path> published_;
    std::map<std::string, std::int64_t> gaps_opened_, gaps_closed_;  // by run
};

}  // namespace compat::site
