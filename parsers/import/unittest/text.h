// The text of Python's unittest, 3.9 to 3.14: of files that others made, of any number of runs, and
// of an attempt of ours whose events are lost. Only the events know durations (but where the runner
// prints them), lines of definition, sub-tests that passed, and the tests under a broken fixture.
#pragma once

#include <string_view>

#include "parsers/import/finished_run.h"

namespace compat::parsers {

// Hands on each run, in order (docs/reference/import-formats.md).
void each_unittest_run(const RunsText& log, const SeeRun& see);
[[nodiscard]] int unittest_text_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
