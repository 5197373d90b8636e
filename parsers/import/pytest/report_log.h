// The JSON lines of the package pytest-reportlog (`pytest --report-log=FILE`): a line for each
// report of pytest's. Not for its text (text.h).
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// A part is a session.
[[nodiscard]] std::vector<Diagnostic> read_pytest_reportlog(const ResultFile& file,
                                                            const SeePart& see);

[[nodiscard]] int pytest_reportlog_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
