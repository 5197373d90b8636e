// The overall log of run_transformer_tests.py: which modules ran, for how long, with what return
// codes. It names no tests, and none are made up. Not for a module's own log, which is unittest's
// text (unittest_text.h).
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"

namespace compat::parsers {

// A part a module: completed where it returned 0; with an errored row `<module>` where it returned
// another code; crashed by a signal; not_run where it was due and the log breaks off before it.
[[nodiscard]] std::vector<Diagnostic> read_torchdevice_log(const ForeignFile& file,
                                                           const SeePart& see);

[[nodiscard]] int torchdevice_log_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
