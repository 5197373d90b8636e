// Width of text on a terminal. Not for escaping control characters (base/text.h, printable).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace compat::display {

// Columns of UTF-8 text: East Asian characters take two, combining ones none. Never less than a
// terminal takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

// The longest beginning of `text` that fits, with "…" at its end if it was cut. Broken UTF-8 and
// characters that move the cursor or change the writing direction become "?". Secrets are masked
// first: a part of one is not recognized.
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

// `text` and a newline, broken at spaces into lines that fit. Further lines begin with `indent`
// spaces. A word that is wider than a line stays whole.
[[nodiscard]] std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent);

}  // namespace compat::display
