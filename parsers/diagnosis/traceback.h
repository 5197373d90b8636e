// Python tracebacks: their text into a Failure (exception type, message, frames), what they show of
// the source, and those of other processes inside a message.
// Not for pytest's own way of printing failures (import/pytest_failure.h).
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// Lines of Python's own.
inline constexpr std::string_view kTracebackHeader = "Traceback (most recent call last):";
inline constexpr std::string_view kDirectCause =
    "The above exception was the direct cause of the following exception:";
inline constexpr std::string_view kDuringHandling =
    "During handling of the above exception, another exception occurred:";
[[nodiscard]] inline bool is_chain_link(std::string_view line) {
    return line == kDirectCause || line == kDuringHandling;
}

// Reads the line `  File "x.py", line 3, in f`, or `  File "x.py", line 3 in f` as faulthandler
// writes it, with "???" for a line that it does not know (0).
[[nodiscard]] std::optional<Frame> frame_of(std::string_view line);

// It takes the last of chained exceptions, as Python prints the one that was raised last; of an
// ExceptionGroup the group itself. Text that follows ("Stdout:" of a buffered test) and the whole
// input are kept in `traceback`. Where there is no traceback, the first line that is not blank is
// the message.
[[nodiscard]] Failure parse_traceback(std::string_view text);

// Whether the exception was raised from another ("The above exception was the direct cause of …").
// If Python links two otherwise ("During handling of …"), one may have nothing to do with the
// other.
[[nodiscard]] bool raised_from_another(std::string_view traceback);

// The statement of the suite in which a traceback ended: in Python's and in
// pytest's short ones the source under the innermost frame whose owner is the suite (place.h), of
// pytest's long ones what ">" points to. Where that only raises, as a suite's own assertEqual does,
// it is the caller's. At most 64 KiB from its end are looked at. Empty: it shows none.
[[nodiscard]] std::string_view failing_source(std::string_view traceback);

// The traceback of another process inside a failure's message: what a launcher, a worker pool or a
// test that checks an exit status repeats of the output of what it started. The innermost one: of
// the last exception printed, and of several ranks' ("[rank0]: …") the first.
// Exceptions that only report the end of a process (CalledProcessError, ChildFailedError) do not
// count. At most 64 KiB from the message's end are looked at. Empty: there is none.
[[nodiscard]] std::optional<Failure> embedded_traceback(std::string_view message);

// Whether the message says with what status another process exited.
[[nodiscard]] bool reports_exit(std::string_view message);

}  // namespace compat::parsers
