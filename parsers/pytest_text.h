// The text of pytest, 7 to 9, into ModuleRecords: of one of our attempts at a module, used where no
// events exist and to check the events against; and of files that others made, of any number of
// sessions. What only the events know is not here: durations (but where a plugin prints them),
// lines of definition, the names of tests that the text only counts, sub-tests that passed.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"
#include "parsers/record.h"

namespace compat::parsers {

// Of `pytest -v` of one module. A test's lines give its state, the FAILURES and ERRORS sections its
// failures. `collected` is what pytest said it had collected and selected, pseudo-cases added.
// Never fails; what cannot be told is a diagnostic.
[[nodiscard]] ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                                             std::string_view module);

// Of a file that others made (foreign.h; docs/reference/import-formats.md says what is understood).
[[nodiscard]] std::vector<Diagnostic> read_pytest_text(const ForeignFile& file, const SeePart& see);
[[nodiscard]] int pytest_text_likeness(std::string_view beginning, std::string_view end);

// Whether the session that closes the text had begun before the last run of unittest's in it:
// something of it stands in front of that, and behind it are fewer results than the closing counts.
// A test of the session ran it.
[[nodiscard]] bool pytest_encloses_unittest(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
