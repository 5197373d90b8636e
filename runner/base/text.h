// Text for people: counts, control characters and short paths. Not for names on disk
// (names.h).
#pragma once

#include <string>
#include <string_view>

namespace compat {

// "1 module", "2 modules".
[[nodiscard]] std::string counted(long n, std::string_view noun);

// Escapes control characters, so that text from a suite cannot control the
// terminal.
[[nodiscard]] std::string printable(std::string_view text);

// "~/x" for a path in the home folder.
[[nodiscard]] std::string tilde_path(std::string_view path);

}  // namespace compat
