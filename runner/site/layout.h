// The addresses of a site's files: short names of suites and columns, and the page of each module's
// tests. They depend on names alone, so that a page keeps its address while tests come and go. Not
// for what is in the files (read_site.h) nor for writing them (write_site.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace compat::site {

// A short name (base/names.h) for each of `names`; those that would be equal (on any file system)
// end with a hash.
[[nodiscard]] std::map<std::string, std::string> short_names(const std::vector<std::string>& names);

// About the number of tests that share a page.
inline constexpr std::size_t kTestsOfPage = 20'000;

// A page of tests: some modules, or a part of a large one.
struct TestsPage {
    std::string name;  // of the file in the suite's folder: "tests-3.html"
    std::vector<std::string> modules;
    // For a divided module: this page has the tests whose hash modulo `parts` is `part`.
    std::uint32_t part = 0, parts = 1;

    [[nodiscard]] bool has(std::string_view test) const;
};

struct ModuleSize {
    std::string path;
    std::int64_t tests = 0;
};

// Pages of the tests of a suite, each module on one or, divided, on several that follow each other.
// `modules`: sorted by path.
[[nodiscard]] std::vector<TestsPage> tests_pages(const std::vector<ModuleSize>& modules);

}  // namespace compat::site
