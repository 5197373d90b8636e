// The Markdown that generate_test_report.py writes: totals, each test that broke, and how many
// passed or were skipped in each module without a failure. Not for the JSON that it is made from,
// which tells more (torchdevice_json.h).
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/foreign.h"

namespace compat::parsers {

// One part of several modules. A test that broke has the id `path::test`, as the report does not
// tell its class. Tests that a module is said to have are `path::<unnamed N>`; those of which only
// the report's total is known stand under the file's own name.
[[nodiscard]] std::vector<Diagnostic> read_torchdevice_report(const ForeignFile& file,
                                                              const SeePart& see);

[[nodiscard]] int torchdevice_report_likeness(std::string_view beginning, std::string_view end);

}  // namespace compat::parsers
