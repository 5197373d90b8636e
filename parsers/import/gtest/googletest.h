// Files of GoogleTest binaries, as others kept them: printed text, and the JSON of
// --gtest_output=json; besides, failures and rows as these and its XML have them. Neither the text
// nor the JSON names the binary: its path is the file's stem.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// The text of binaries, one after the other: "#2" and so on is added to the path for further ones;
// the iterations of --gtest_repeat are parts of the same path. Only what fits is believed, since a
// test may print such lines itself: all that stands between a test's start and the next word on
// that same test is its own output. A test whose end is missing crashed, or was not run to its end
// where the file breaks off with it.
[[nodiscard]] std::vector<Diagnostic> read_googletest_text(const ResultFile& file,
                                                           const SeePart& see);
[[nodiscard]] int googletest_text_likeness(std::string_view beginning, std::string_view end);

// Its XML in other brackets, and read as that (junit/junit_xml.h). Nothing is read of a file that is
// cut off.
[[nodiscard]] std::vector<Diagnostic> read_googletest_json(const ResultFile& file,
                                                           const SeePart& see);
[[nodiscard]] int googletest_json_likeness(std::string_view beginning, std::string_view end);

// A Failure for each "file:line: Failure" and "file:line: Skipped" in a text, and what stands after
// it; its type is the last word of these. Text before the first is a test's own output.
[[nodiscard]] std::vector<Failure> googletest_failures(std::string_view text);

// Reads the text in an element of the XML or JSON, "a.cc:12\nwords", as the binary prints it.
[[nodiscard]] Failure googletest_failure(std::string_view text, bool skipped);

// Gives the case its state and what these say of it.
void set_googletest_result(CaseRecord& test, State state, std::vector<Failure> failures);

// A disabled test: it is skipped, and was never begun.
void set_googletest_disabled(CaseRecord& test);

// A row for what failed outside of any test, without an id: "Suite::<TestSuite>" or, where `suite`
// is empty or as the XML and JSON then have it, "<Environment>". Without `failures` it is said that
// it failed, not how.
[[nodiscard]] CaseRecord googletest_fixture(std::string_view suite, std::vector<Failure> failures,
                                            Phase of_environment = Phase::module_setup);

}  // namespace compat::parsers
