// Many regular expressions that are looked for in one text, of which few will be found. The words
// that a text must have for an expression to match ("is_cuda", "allclose") are looked for first,
// all in one pass, and an expression is tried where its own were seen. All of them as one automaton
// would do the same ten times slower where every text differs: each "[^\n]*" multiplies its
// states, and each new text makes new ones. Not for where a match lies.
#pragma once

#include <re2/filtered_re2.h>
#include <re2/re2.h>
#include <re2/set.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace compat::parsers {

// Bytes are Latin-1, so that any text can be searched. Safe to share once compiled.
class PatternSet {
  public:
    // Counted from 0. Throws std::invalid_argument, saying what is wrong with the expression.
    size_t add(const std::string& pattern);
    // After the last one. False: they take too much memory.
    [[nodiscard]] bool compile();

    // One text, searched for any of them. Views: the set and the text outlive it.
    class Search {
      public:
        Search(const PatternSet& set, std::string_view text);
        [[nodiscard]] bool finds(size_t index) const;

      private:
        const PatternSet& set_;
        std::string_view text_;
        std::vector<char> may_;  // of each expression, whether its words were seen
    };
    [[nodiscard]] const RE2& pattern(size_t index) const {
        return patterns_.GetRE2(static_cast<int>(index));
    }

  private:
    // Words that are shorter stand in too many texts to tell anything.
    static constexpr int kWordBytes = 3;

    re2::FilteredRE2 patterns_{kWordBytes};
    std::unique_ptr<RE2::Set> words_;  // as FilteredRE2 numbers them
};

}  // namespace compat::parsers
