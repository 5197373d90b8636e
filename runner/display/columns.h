// How much room text takes on a terminal. Not for what may be shown at all (display.h, printable).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace compat::display {

// Columns of UTF-8 text: East Asian characters take two, combining ones none. Never less than a
// terminal takes.
[[nodiscard]] std::size_t columns_of(std::string_view text);

// The longest beginning of `text` that fits, with "…" at its end where something is left out.
// What is no character (broken UTF-8) or moves the cursor or turns the writing around becomes "?".
[[nodiscard]] std::string cut_to(std::string_view text, std::size_t columns);

}  // namespace compat::display
