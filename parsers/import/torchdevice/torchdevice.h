// The files of TorchDevice's test_automation: the overall log of run_transformer_tests.py and the
// JSON that parse_transformer_log_summary.py makes of it. Not for the logs of single modules, which
// are unittest's text.
#pragma once

#include <string_view>
#include <vector>

#include "parsers/import/importers.h"

namespace compat::parsers {

// The log: which modules ran, for how long, with what return codes. It names no tests, and none are
// made up. A part a module: completed where it returned 0; with an errored row `<module>` where it
// returned another code; crashed by a signal; not_run where it was due and the log breaks off
// before it.
[[nodiscard]] std::vector<Diagnostic> read_torchdevice_log(const ResultFile& file,
                                                           const SeePart& see);
[[nodiscard]] int torchdevice_log_likeness(std::string_view beginning, std::string_view end);

// The JSON: a list of modules, each with the totals of its log and the tests that broke. A part a
// module. Tests that its totals count and it does not name are the row `<unnamed>`. A module whose
// log had no totals is judged by its return code.
[[nodiscard]] std::vector<Diagnostic> read_torchdevice_json(const ResultFile& file,
                                                            const SeePart& see);
[[nodiscard]] int torchdevice_json_likeness(std::string_view beginning, std::string_view end);

// "0:00:27.122207", "1 day, 2:03:04" in seconds; 0 where it is no duration.
[[nodiscard]] double torchdevice_seconds(std::string_view text);

}  // namespace compat::parsers
