// Text for people: counts, control characters and short paths. Not for names on disk
// (names.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace compat {

// "1 module", "2 modules"; "1 entry", "2 entries" with a plural of its own.
[[nodiscard]] std::string counted(long n, std::string_view noun);
[[nodiscard]] std::string counted(long n, std::string_view noun, std::string_view plural);

// "812 B", "1.4 MiB".
[[nodiscard]] std::string size_words(std::uint64_t bytes);

// Escapes control characters, so that text from a suite cannot control the
// terminal.
[[nodiscard]] std::string printable(std::string_view text);

// Without blanks at both ends: spaces, tabs, the CR of a CRLF.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// "~/x" for a path in the home folder.
[[nodiscard]] std::string tilde_path(std::string_view path);

}  // namespace compat
