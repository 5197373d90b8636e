// Diagnostics of a log that does not tell for sure what ran: one for each run, "ambiguous",
// with the place, and with what to do. It makes the run's counts not add up (exit code 3). Not for
// what a log merely lacks.
#pragma once

#include <cstdint>
#include <string_view>

#include "parsers/outcomes.h"
#include "parsers/record.h"

namespace compat::parsers {

// Its message begins with kAmbiguous (text.h).
[[nodiscard]] Diagnostic doubt(size_t offset, std::string_view why, std::string_view advice);

// Where the record has none yet.
void add_doubt(ModuleRecord& record, size_t offset, std::string_view why, std::string_view advice);

// The same where the record's own closing, which stands at `offset`, counts other outcomes than its
// cases and the `unnamed` tests have.
void check_totals(ModuleRecord& record, const OutcomeCounts& unnamed, size_t offset,
                  std::string_view advice);

}  // namespace compat::parsers
