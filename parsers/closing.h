// The lines with which a framework closes its run, found in a log: "Ran 3 tests in 0.1s / OK",
// "=== 1 failed, 2 passed in 0.12s ===", "[  PASSED  ] 3 tests.". Not for judging them:
// runner/analysis/accounting.h does.
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

struct FoundClosing {
    Closing closing;
    size_t begin = 0;  // offset of its first line (unittest: of the rule above "Ran")
    size_t end = 0;    // offset after its last line
};

// The last closing of `framework` in the log, whole and in the framework's own form; nothing where
// there is none. A log may hold others (a test that runs a framework itself, or prints such lines):
// they come before the last, and one after which tests still run is none. Counts are named by the
// framework's words in the plural ("errors", "warnings"); pytest's "no tests ran" has none.
[[nodiscard]] std::optional<FoundClosing> find_closing(std::string_view log,
                                                       std::string_view framework);

// The last lines of unittest's form, whatever comes after them.
[[nodiscard]] std::optional<FoundClosing> find_printed_unittest_closing(std::string_view log);

}  // namespace compat::parsers
