// The text of pytest, 7 to 9, into ModuleRecords: of files that others made, of any number of
// sessions, and of an attempt of ours whose events are lost. What only the events know is not here:
// durations (but where a plugin prints them), lines of definition, the names of tests that the text
// only counts, sub-tests that passed.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/importers.h"
#include "parsers/record.h"

namespace compat::parsers {

// Reads the output of `pytest -v` of one module.
[[nodiscard]] ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                                             std::string_view module);

// Reads a file that others made (import/importers.h, docs/reference/import-formats.md).
[[nodiscard]] std::vector<Diagnostic> read_pytest_text(const ResultFile& file, const SeePart& see);
[[nodiscard]] int pytest_text_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
