// The writers of JUnit XML whose elements or totals mean something else than the other writers': how
// each is recognised by its form, and what its totals count. Not for pytest,
// unittest-xml-reporting, GoogleTest and CTest (junit_case.h). docs/reference/import-formats.md has
// the same table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

enum class JunitWriter {
    pytest,
    unittest,
    googletest,
    ctest,
    other,
    runner,  // our own reports (reports/ci/junit.h)
    absl,
    boost,
    catch2,
    doctest,
    go,
    jest,
    mocha_xunit,
    mocha,
    node,
    nose2,
};

// The framework of its records. Tests of Python's unittest fail on an unexpected success as it does.
[[nodiscard]] std::string_view framework_of(JunitWriter writer);

// Nothing: none of the last ten.
[[nodiscard]] std::optional<JunitWriter> writer_by_form(pugi::xml_node suite);

// Whether the totals around a test count more failures than its neighbours have: what looks allowed
// was none then.
class CountedFailures {
  public:
    [[nodiscard]] bool counts(JunitWriter writer, pugi::xml_node testcase);

  private:
    std::unordered_map<size_t, bool> by_suite_;
};

// The states that only some writers' elements have: a failure that was allowed, a set-up that is no
// test. `test` is as its elements alone tell it.
void settle_by_writer(JunitWriter writer, pugi::xml_node testcase, CountedFailures& counted,
                      CaseRecord& test);

// As a file or its suites state them: tests, failures, errors, skipped.
using JunitTotals = std::array<std::optional<std::int64_t>, 4>;

// The row of a file of tests that could not be loaded, named as its suite is: nothing, unless the
// suite counts an error, no test, has none, and no suite in it counts the error.
[[nodiscard]] std::optional<CaseRecord> unloaded_file(pugi::xml_node suite);

// Whether the totals are those of the tests by the arithmetic of one of the last ten writers.
[[nodiscard]] bool totals_agree(JunitWriter writer, const JunitTotals& stated,
                                const std::vector<CaseRecord>& cases);

}  // namespace compat::parsers
