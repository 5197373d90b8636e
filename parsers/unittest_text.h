// The text of Python's unittest, 3.9 to 3.13, into ModuleRecords: of one of our attempts at a
// module, used where no events exist and to check the events against; and of files that others
// made, of any number of runs. What only the events know is not here: durations (but where the
// runner prints them), lines of definition, sub-tests that passed, the tests under a failed class
// or module fixture (the text names the fixture alone: it is the pseudo-case
// `Class::<setUpClass>`), and the version of Python.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"
#include "parsers/record.h"

namespace compat::parsers {

// Of `python -m unittest -v` of one module. A test's state is what its line says, and where it has
// a FAIL or ERROR section, what the section says: a test may print "ok" itself. Never fails; what
// cannot be told is a diagnostic.
[[nodiscard]] ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                               std::string_view module);

// Of a file that others made (foreign.h; docs/reference/import-formats.md says what is understood).
[[nodiscard]] std::vector<Diagnostic> read_unittest_text(const ForeignFile& file,
                                                         const SeePart& see);
[[nodiscard]] int unittest_text_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
