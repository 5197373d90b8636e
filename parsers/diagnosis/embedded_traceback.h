// The traceback of another process inside a failure's message: what a launcher, a worker pool or a
// test that checks an exit status repeats of the output of what it started. Not for the failure's
// own traceback, nor for the exceptions chained to it (traceback.h).
#pragma once

#include <optional>
#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// The innermost one: of the last exception printed, and of several ranks' ("[rank0]: …") the first.
// Exceptions that only report the end of a process (CalledProcessError, ChildFailedError) do not
// count. At most 64 KiB from the message's end are looked at. Empty: there is none.
[[nodiscard]] std::optional<Failure> embedded_traceback(std::string_view message);

// Whether the message says with what status another process exited.
[[nodiscard]] bool reports_exit(std::string_view message);

}  // namespace compat::parsers
