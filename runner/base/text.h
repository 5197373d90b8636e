// Text for people: counts, control characters and short paths. Not for names on disk
// (names.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace compat {

// "1 module", "2 modules"; "1 entry", "2 entries" with a plural of its own.
[[nodiscard]] std::string counted(long n, std::string_view noun);
[[nodiscard]] std::string counted(long n, std::string_view noun, std::string_view plural);

// "812 B", "1.4 MiB".
[[nodiscard]] std::string format_size(std::uint64_t bytes);

struct Character {
    char32_t code = 0;
    std::size_t bytes = 0;
};

// The first character, of UTF-8. `bytes` 0: `text` begins with none.
[[nodiscard]] Character first_character(std::string_view text);

// A character beyond ASCII that controls a terminal, or reorders or hides the text around it, such
// as those for the direction of writing. `bytes` 0: `text` begins with none.
[[nodiscard]] Character deceptive_character(std::string_view text);

// Escapes these and ASCII's control characters, so that text from a suite cannot control the
// terminal, nor look like another.
[[nodiscard]] std::string printable(std::string_view text);

// Without blanks at both ends: spaces, tabs, the CR of a CRLF.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// "~/x" for a path in the home folder.
[[nodiscard]] std::string tilde_path(std::string_view path);

}  // namespace compat
