// The lines with which a framework closes its run, found in a log: "Ran 3 tests in 0.1s / OK",
// "=== 1 failed, 2 passed in 0.12s ===", "[  PASSED  ] 3 tests.". Not for judging them:
// runner/analysis/accounting.h does.
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

struct FoundSummary {
    FrameworkSummary summary;
    size_t begin = 0;  // offset of its first line (unittest: of the rule above "Ran")
    size_t end = 0;    // offset after its last line
};

// The last summary of `framework` in the log, whole and in the framework's own form; nothing where
// there is none. A log may hold others (a test that runs a framework itself, or prints such lines):
// they come before the last, and one after which tests still run is none. Counts are named by the
// framework's words in the plural ("errors", "warnings"); pytest's "no tests ran" has none.
[[nodiscard]] std::optional<FoundSummary> find_summary(std::string_view log,
                                                       std::string_view framework);

// The last summary in the log, if none in it counts what `own` counts: it is no line that the
// framework printed with these numbers. Only for unittest and pytest; a log may hold summaries of
// tests that run a framework themselves. Empty: there is such a line, or none at all.
[[nodiscard]] std::optional<FoundSummary> find_contradiction(std::string_view log,
                                                             const FrameworkSummary& own,
                                                             std::string_view framework);

// Reads unittest's two lines: "Ran 3 tests in 0.1s" and, after an empty one, "FAILED (failures=1)".
[[nodiscard]] std::optional<FrameworkSummary> read_unittest_summary(std::string_view ran,
                                                                    std::string_view verdict);

// Reads pytest's line, framed or with -q plain.
[[nodiscard]] std::optional<FrameworkSummary> read_pytest_summary(std::string_view line);

// How many it counts under a word; 0 where it does not have it.
[[nodiscard]] std::int64_t count_in(const FrameworkSummary& summary, std::string_view word);

}  // namespace compat::parsers
