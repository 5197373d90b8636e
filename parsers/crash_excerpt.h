// The Failure of the row in which a process died, from what it left in its log.
// Not for exceptions that a framework reports (diagnosis/traceback.h) nor for which row that is
// (resolve_unfinished.h).
#pragma once

#include <string_view>

#include "parsers/record.h"
#include "parsers/text_source.h"

namespace compat::parsers {

// The size of one excerpt of a log.
inline constexpr size_t kLastLines = 60;
inline constexpr size_t kLastBytes = 16 * 1024;

// `type` is what happened ("SIGSEGV", "exit code 3", "timed out", "out of memory"), `message` the
// last line that tells more of it: faulthandler's "Fatal Python error: …", where a time-out found
// the process, else the last that it printed after the framework had named `test` (unittest's
// name, pytest's node id, GoogleTest's full name). `traceback` is the end of the log, or
// faulthandler's dump where it made one of this death; `frames` are those of the thread that was
// current then.
[[nodiscard]] Failure crash_excerpt(std::string_view log, const ProcessEnd& end,
                                    std::string_view test);

// Gives each row of `record` that the process's end decided its crash excerpt. Reads the log only
// where there is such a row.
void add_crash_excerpts(ModuleRecord& record, const TextSource& log, const ProcessEnd& end);

}  // namespace compat::parsers
