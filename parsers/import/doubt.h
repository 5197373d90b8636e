// Diagnostics of a log that does not tell for sure what ran: one for each run, "ambiguous",
// with the place, and with what to do. It makes the run's counts not add up (exit code 3). Not for
// what a log merely lacks.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

// Its message begins with kAmbiguous (text.h).
[[nodiscard]] Diagnostic doubt(size_t offset, std::string_view why, std::string_view advice);

// Whether characters like those of tests, which no closing counts, are of a run that was cut off:
// there are more of them in a line than any program prints as an ellipsis, or the log ends behind
// them (`after`) in the middle of a line.
[[nodiscard]] bool is_cut_off(std::string_view log, std::int64_t most_in_line, size_t after);

// Names the other ones.
[[nodiscard]] Diagnostic uncounted_characters(size_t offset);

// Where the record has none yet.
void add_doubt(ModuleRecord& record, size_t offset, std::string_view why, std::string_view advice);

// The same, where the record's own closing, which stands at `offset`, counts other outcomes than
// its cases have.
void check_totals(ModuleRecord& record, size_t offset, std::string_view advice);

// Chooses the own run of several in the log of one attempt of ours: the last with a closing, else
// the last. `Run` has a `record`.
template <class Run>
[[nodiscard]] Run own_part(std::vector<Run> runs, std::string_view framework) {
    Run own;
    own.record.from_text = true;
    own.record.framework = framework;
    for (Run& run : runs)
        if (run.record.closing || !own.record.closing) own = std::move(run);
    if (runs.size() > 1)
        add_doubt(own.record, 0, "the log of one attempt shows several runs",
                  "run the module again");
    return own;
}

}  // namespace compat::parsers
