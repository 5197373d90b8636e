// Suggestions for a mistyped word, for error messages. Not a search.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compat {

// Insertions, deletions, substitutions and swaps of neighbours (bytes) from one word to the other.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// At most `max` words of `known` near `wanted`, nearest first, ignoring case. Near: the distance is
// at most a third of its bytes (at least one) and at most two more than the nearest distance. Equal
// distances keep their order.
[[nodiscard]] std::vector<std::string> nearest(std::string_view wanted,
                                               std::span<const std::string> known, std::size_t max);

// `did you mean "a"?`, `did you mean "a", "b" or "c"?`; empty for no words.
[[nodiscard]] std::string did_you_mean(std::span<const std::string> words);

}  // namespace compat
