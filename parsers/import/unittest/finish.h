// What became of the tests of a run of unittest's: from what was said of each to a record with one
// state each, compared with the run's own totals. Not for reading lines (run.h).
#pragma once

#include <optional>
#include <vector>

#include "parsers/ending.h"
#include "parsers/import/unittest/names.h"
#include "parsers/import/unittest/run.h"
#include "parsers/record.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

// Of a run with its closing, which begins at `end`, or of one that breaks off there. Unnamed tests
// have `room`. The record is not settled yet: `progress` says how far each of its cases came.
struct FinishedUnittestRun {
    ModuleRecord record;
    std::vector<Progress> progress;
};
[[nodiscard]] FinishedUnittestRun finish_unittest_run(UnittestRun run,
                                                      std::optional<Closing> closing, size_t end,
                                                      UnittestNames& names, Unnamed::Room& room);

}  // namespace compat::parsers
