// Things that files of results have in common: names, durations, words that tell their format.
// Not for what a test's own fields mean.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace compat::parsers {

// Names a binary or suite that nothing else names: the file's name without its last extension. The
// importer has put folders in front only of equal names.
[[nodiscard]] std::string stem_of(std::string_view file_name);

// An id is one line and the same in every run: addresses in it are left out.
[[nodiscard]] std::string tidy_id(std::string_view id);

// "1,234.5", "0.019s" in seconds. Anything else, or too great for a sum, is 0.
[[nodiscard]] double file_seconds(std::string_view text);

// How many of the words stand in a file's beginning or end.
[[nodiscard]] int count_words(std::span<const std::string_view> words, std::string_view beginning,
                              std::string_view end = {});

}  // namespace compat::parsers
