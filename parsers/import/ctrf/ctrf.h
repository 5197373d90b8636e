// CTRF, the Common Test Report Format (ctrf.io), as the reporters of many frameworks and our own
// (reports/ci/ctrf.h) write it.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// A part is the file's run. The summary is held against the tests' own statuses.
[[nodiscard]] std::vector<Diagnostic> read_ctrf(const ResultFile& file, const SeePart& see);

[[nodiscard]] int ctrf_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
