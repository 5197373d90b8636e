// What the files of TorchDevice's test_automation have in common: names of modules and tests,
// return codes, durations. Not for the logs of single modules, which are unittest's text
// (unittest_text.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// "tests.models.bert.test_x" as "tests/models/bert/test_x.py".
[[nodiscard]] std::string torchdevice_path(std::string_view module);

// A row for a test that broke, or for what broke outside of any: a class or module fixture, the
// module as a whole. `classes` may be empty: reports do not tell it. Its failure is read from
// `traceback`; where that says nothing, `key_line` does.
[[nodiscard]] CaseRecord torchdevice_case(std::string_view path, std::string_view classes,
                                          std::string_view method, State state,
                                          std::string_view traceback, std::string_view key_line);

// "FAIL", "ERROR", "SKIPPED", "SUCCESS" and the like; nothing for other words.
[[nodiscard]] std::optional<State> torchdevice_state(std::string_view word);

// "0:00:27.122207", "1 day, 2:03:04" in seconds; 0 where it is no duration.
[[nodiscard]] double torchdevice_seconds(std::string_view text);

// A return code as Python's subprocess gives it: a signal is negative. -1 is what the script itself
// gives for a module that it could not run.
[[nodiscard]] ProcessEnd torchdevice_end(std::int64_t return_code);

// Makes what is known of a module whose tests are not: its outcome, and a row for it where it
// did not end well.
void set_torchdevice_outcome(ModuleRecord& record, std::int64_t return_code, double duration_s);

}  // namespace compat::parsers
