// The text of Python's unittest, 3.9 to 3.14, into ModuleRecords: of files that others made, of any
// number of runs, and of an attempt of ours whose events are lost. What only the events know is not
// here: durations (but where the runner prints them), lines of definition, sub-tests that passed,
// the tests under a failed class or module fixture, and the version of Python.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/importers.h"
#include "parsers/record.h"

namespace compat::parsers {

// Reads the output of `python -m unittest -v` of one module.
[[nodiscard]] ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                               std::string_view module);

// Reads a file that others made (import/importers.h, docs/reference/import-formats.md).
[[nodiscard]] std::vector<Diagnostic> read_unittest_text(const ResultFile& file,
                                                         const SeePart& see);
[[nodiscard]] int unittest_text_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
