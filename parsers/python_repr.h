// Python's way of quoting a string, undone.
#pragma once

#include <string>
#include <string_view>

namespace compat::parsers {

// "'it\\'s'" -> "it's". Text in no quotes is returned as it is; an escape that is none stays.
[[nodiscard]] std::string unquoted_python(std::string_view text);

}  // namespace compat::parsers
