// JUnit XML, as pytest, unittest-xml-reporting, GoogleTest, CTest, Maven's Surefire and others
// write it. docs/reference/import-formats.md says what is understood. Not for what one <testcase>
// says (junit_case.h).
#pragma once

#include <pugixml.hpp>
#include <string_view>
#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// A part is one run of pytest or CTest (a <testsuite>), else all of the suites under one root that
// one writer has written. Its summary's counts are the totals that the file states, by their
// attributes' names: "tests", "failures", "errors", "skipped"; one stands twice where the root and
// the sum of its suites differ. If a file breaks off, the tests whose elements are whole are
// kept, and the last part is not finished.
[[nodiscard]] std::vector<Diagnostic> read_junit_xml(const ResultFile& file, const SeePart& see);

// The same of a document that was made of another format.
[[nodiscard]] std::vector<Diagnostic> read_junit_document(pugi::xml_document& document,
                                                          const ResultFile& file,
                                                          const SeePart& see);

[[nodiscard]] int junit_xml_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
