// One failure as pytest prints it between two "____ name ____" lines: source lines, "E   " lines,
// "file:line: Type"; JUnit XML has it, too. Not for plain Python tracebacks (diagnosis/traceback.h), though
// it takes those, too.
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// It takes the last of chained exceptions. Files are joined to `root`, pytest's rootdir, where
// they are printed relative; a function is known where its `def` is among the printed lines.
[[nodiscard]] Failure parse_pytest_failure(std::string_view body, std::string_view root);

// Takes type and message from "Type: text", whose first line names the type if any does.
void name_by_message(Failure& failure, std::string_view message);

// How the process of a test ended, as pytest-xdist and pytest-forked say in the test's stead.
struct PytestDeath {
    std::string_view words;  // "running the test CRASHED with signal 11 (SIGSEGV)"
    std::string_view test;   // pytest-xdist's words: its id
};
[[nodiscard]] std::optional<PytestDeath> pytest_death(std::string_view message);

// Adds a failure to a test's others, in the order in which pytest prints them.
void keep_failure(CaseRecord& c, Failure failure);

}  // namespace compat::parsers
