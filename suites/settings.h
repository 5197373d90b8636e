// The few settings of pytest that say where a project's tests lie. Reads sections of INI and TOML
// files only as far as that takes: names of sections, and values that are a word or a list of
// words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::suites {

// Keys of `[section]` with their words: `testpaths = ["a", "b"]`, `testpaths = a b`, and lists over
// several lines all give {"a", "b"}. Nothing where the text has no such section.
[[nodiscard]] std::optional<std::map<std::string, std::vector<std::string>>> read_section(
    std::string_view text, std::string_view section);

}  // namespace compat::suites
