// What parse_transformer_log_summary.py writes: a list of modules, each with the totals of its log
// and the tests that broke. Not for the log that it is made from (torchdevice_log.h).
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"

namespace compat::parsers {

// A part a module. Tests that its totals count and it does not name are `<unnamed N>`; one whose
// log had no totals is judged by its return code.
[[nodiscard]] std::vector<Diagnostic> read_torchdevice_json(const ForeignFile& file,
                                                            const SeePart& see);

[[nodiscard]] int torchdevice_json_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
