// Checks of the values of options, with errors that name the value and what is allowed: CLI11
// writes the option's name before them. Settings have their own (config::refuse).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace compat::cli {

// Takes a value; returns what is wrong with it, or nothing.
using Check = std::function<std::string(const std::string&)>;

// "70000 is out of range (0 to 65535)", "\"x\" is not a whole number (0 to 65535)".
[[nodiscard]] Check in_range(std::int64_t least, std::int64_t most);

// "\"x\" is not allowed: use one of text, md", with the nearest word first.
[[nodiscard]] Check one_of(std::vector<std::string> words);

}  // namespace compat::cli
