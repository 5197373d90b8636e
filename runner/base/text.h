// Text for people: counts in words, and bytes from outside made safe for a terminal. Not for names
// on disk (names.h).
#pragma once

#include <string>
#include <string_view>

namespace compat {

// "1 module", "2 modules".
[[nodiscard]] std::string counted(long n, std::string_view noun);

// `text` with control characters made visible, so that what comes from a suite cannot write to the
// terminal.
[[nodiscard]] std::string printable(std::string_view text);

// A path for people: "~/x" for one in the home folder.
[[nodiscard]] std::string from_home(std::string_view path);

}  // namespace compat
