// What any file of results has: names, of which a part's ids are made, durations, and words by
// which it is recognised. Not for a reader that knows more of a repeated name than that it is one
// (unittest, pytest).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace compat::parsers {

class CaseIds {
  public:
    // The id itself, or with the first of "#2", "#3" and so on that no case of the part has yet.
    [[nodiscard]] std::string unique(const std::string& id);

  private:
    std::unordered_set<std::string> taken_;
    std::unordered_map<std::string, int> repeats_;
};

// A file's name without folders and its last extension: of a binary or suite that nothing names.
[[nodiscard]] std::string stem_of(std::string_view file_name);

// "1,234.5", "0.019s" in seconds. What is no time is 0, as is what a sum could not hold.
[[nodiscard]] double file_seconds(std::string_view text);

// How many of the words stand in a file's beginning or end.
[[nodiscard]] int count_words(std::span<const std::string_view> words, std::string_view beginning,
                              std::string_view end = {});

}  // namespace compat::parsers
