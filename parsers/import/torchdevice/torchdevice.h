// What the files of TorchDevice's test_automation have in common: names of modules, durations,
// return codes. Not for the logs of single modules, which are unittest's text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// A record of "tests.models.bert.test_x", whose path is "tests/models/bert/test_x.py".
[[nodiscard]] ModuleRecord torchdevice_module(std::string_view module);

// "0:00:27.122207", "1 day, 2:03:04" in seconds; 0 where it is no duration.
[[nodiscard]] double torchdevice_seconds(std::string_view text);

// "0", "-11": a return code as Python's subprocess gives it.
[[nodiscard]] std::optional<std::int64_t> torchdevice_code(std::string_view text);

// A signal is negative. -1 is what the script itself gives for a module that it could not run.
[[nodiscard]] ProcessEnd torchdevice_end(std::int64_t return_code);

// Makes what is known of a module whose tests are not: its outcome, and a row for it where it
// did not end well.
void set_torchdevice_outcome(ModuleRecord& record, std::int64_t return_code, double duration_s);

}  // namespace compat::parsers
