// The text of pytest, 7 to 9: of files that others made, of any number of sessions, and of an
// attempt of ours whose events are lost. Only the events know durations (but where a plugin prints
// them), lines of definition, and sub-tests that passed.
#pragma once

#include <string_view>

#include "parsers/import/finished_run.h"

namespace compat::parsers {

// Hands on each session, in order (docs/reference/import-formats.md).
void each_pytest_session(const RunsText& log, const SeeRun& see);
[[nodiscard]] int pytest_text_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
