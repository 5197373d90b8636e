// A Python traceback's text into a Failure: exception type, message, frames.
// Not for pytest's own way of printing failures (pytest_text.h).
#pragma once

#include <string_view>

#include "parsers/record.h"

namespace compat::parsers {

// Of chained exceptions the last one is meant, as Python prints the one that was raised last; of an
// ExceptionGroup the group itself. Text that follows ("Stdout:" of a buffered test) and the whole
// input are kept in `traceback`. Where there is no traceback, the first line that is not blank is
// the message.
[[nodiscard]] Failure parse_traceback(std::string_view text);

}  // namespace compat::parsers
