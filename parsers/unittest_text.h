// The text of `python -m unittest -v`, Python 3.9 to 3.13, into a ModuleRecord.
// Used where no events exist, and to check the events against. What only the events know is not
// here: durations, lines of definition, sub-tests that passed, the tests under a failed class or
// module fixture (the text names the fixture alone: it is the pseudo-case `Class::<setUpClass>`),
// and the version of Python.
#pragma once

#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// A test's state is what its line says, and where it has a FAIL or ERROR section, what the section
// says: a test may print "ok" itself. Never fails; what cannot be told is a diagnostic.
[[nodiscard]] ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                               std::string_view module);

}  // namespace compat::parsers
