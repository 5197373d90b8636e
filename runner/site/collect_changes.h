// Collects from all tests what a site lists: what broke and since when, what was fixed, flaky
// tests, slow ones. Keeps the first of each list and the counts of all. Not for reading tests
// (read_tests.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/site/site.h"
#include "runner/site/read_tests.h"
#include "runner/site/series.h"

namespace compat::site {

class ChangeCollector {
  public:
    explicit ChangeCollector(reports::SiteView& view) : view_(view) {}

    // `first_cell`: of the suite, in view.cells. `page`: the address of the test's page.
    void add(std::size_t first_cell, const Series& series, const std::string& page,
             const ReadTest& test);
    // After the last test of a suite: says of each group what changed when it broke.
    [[nodiscard]] Expected<void> close_suite(TestsReader& reader, std::size_t first_cell,
                                             const std::vector<Series>& series);
    // Sorts the lists, and shortens them.
    void finish();

  private:
    struct Group {
        std::int64_t tests = 0;
        std::map<std::uint32_t, std::int64_t> last_good;  // runs before, by tests
        std::int64_t never_good = 0;
        std::vector<reports::SiteTest> first;
    };
    void shorten();

    reports::SiteView& view_;
    std::map<std::pair<std::size_t, std::uint32_t>, Group> groups_;  // by cell and first bad run
};

}  // namespace compat::site
