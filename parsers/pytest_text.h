// The text of `pytest -v`, pytest 7 to 9, into a ModuleRecord.
// Used where no events exist, and to check the events against. What only the events know is not
// here: durations, lines of definition, tests that were collected and never named, sub-tests that
// passed.
#pragma once

#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// A test's lines give its state, the FAILURES and ERRORS sections its failures. `collected` is what
// pytest said it had collected and selected, pseudo-cases added. Never fails; what cannot be told
// is a diagnostic.
[[nodiscard]] ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                                             std::string_view module);

}  // namespace compat::parsers
