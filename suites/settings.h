// Reads settings of pytest from INI and TOML files. Supports only what these need:
// section names, and values that are a word or a list of words.
// Not a parser for either format.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::suites {

// The keys of `[section]` with their words: `testpaths = ["a", "b"]`, `testpaths = a b` and lists
// over several lines all give {"a", "b"}. Nothing: no such section.
[[nodiscard]] std::optional<std::map<std::string, std::vector<std::string>>> read_section(
    std::string_view text, std::string_view section);

}  // namespace compat::suites
