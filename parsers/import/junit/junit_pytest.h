// JUnit XML as pytest and its plugins write it: how a file is recognised, which outcomes an
// element has, which elements are attempts at one test. Not for names, nor for the file's structure
// (junit_case.h, junit_xml.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

// By its form: users choose its name (`junit_suite_name`).
[[nodiscard]] bool is_pytest_suite(pugi::xml_node suite);

// By pytest's words in the `message` of an <error>, and of a <skipped> by collection.
[[nodiscard]] std::optional<Phase> pytest_phase(std::string_view message);

// Reads the outcomes of an element into its test. A sub-test has no element of its own: its outcome
// is a child without a name, before that of the test. One that passed has none, as a test that
// passed. True: nothing but a broken tear-down.
bool read_pytest_outcomes(pugi::xml_node testcase, CaseRecord& test);

// Adds a further element of a test: pytest-rerunfailures writes one for each attempt, of which
// those before the last look passed but for sub-tests and tear-downs; of a test whose call failed,
// pytest itself writes one more for a broken tear-down (`only_teardown`).
void add_pytest_element(CaseRecord& test, CaseRecord more, bool only_teardown);

// Settles what single elements do not tell, by the total `tests` of the file (empty: it has none):
// whether elements of one name are attempts or tests of their own, and whether tests whose
// sub-tests were skipped passed. Returns the messages of diagnostics.
[[nodiscard]] std::vector<std::string> settle_pytest_tests(
    std::vector<CaseRecord>& cases, std::optional<std::int64_t> stated_tests);

}  // namespace compat::parsers
