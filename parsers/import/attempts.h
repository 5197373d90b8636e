// Several attempts at one test in one file, as a rerun of a framework's plugin leaves them. Not for
// results of several files (runner/archive).
#pragma once

#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// Hands on the attempts before the last as parts of their own, in their order, and then the record,
// whose cases are the last attempts. `earlier` runs parallel to record.cases, as far as it reaches.
void see_attempts(ModuleRecord record, std::vector<std::vector<CaseRecord>> earlier,
                  const SeePart& see);

}  // namespace compat::parsers
