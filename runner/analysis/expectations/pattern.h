// Patterns over ids of tests: `*` stands for any characters, `/` and `::` included, `?` for one.
// A backslash before `*`, `?` or another backslash makes it stand for itself. All others stand for
// themselves, `[` too: ids have parameters in brackets. Pure. Not for globs on paths
// (suites/glob.h).
#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <string_view>

namespace compat::analysis {

// Whether the pattern matches the whole id.
[[nodiscard]] bool pattern_matches(std::string_view pattern, std::string_view id);

// A pattern that is compared with many modules: a run asks for each entry and each module that it
// leaves out. The pattern's text must outlive it.
class ModulePattern {
  public:
    explicit ModulePattern(std::string_view pattern);
    // Whether the pattern could match the id of some test in the module.
    [[nodiscard]] bool could_match_in(std::string_view module) const;

  private:
    std::string_view pattern_, literal_;  // literal_: up to the first wildcard or backslash
};

// The greater pattern is more specific, if both match one id: it has more literal characters, then
// fewer wildcards.
struct Specificity {
    std::ptrdiff_t literals = 0;
    std::ptrdiff_t fewer_wildcards = 0;  // their number, negative

    friend auto operator<=>(const Specificity&, const Specificity&) = default;
};
[[nodiscard]] Specificity specificity_of(std::string_view pattern);

// Whether it has no wildcard.
[[nodiscard]] bool is_exact(std::string_view pattern);

// The one id that an exact pattern matches.
[[nodiscard]] std::string id_of(std::string_view exact_pattern);

// The exact pattern of an id. A backslash is only escaped where it would escape what follows.
[[nodiscard]] std::string pattern_of(std::string_view id);

// Whether the pattern matches this id and no other.
[[nodiscard]] bool is_pattern_of(std::string_view pattern, std::string_view id);

}  // namespace compat::analysis
