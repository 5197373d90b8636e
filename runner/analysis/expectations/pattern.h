// Patterns over ids of tests: `*` stands for any characters, `/` and `::` included, `?` for one.
// All others stand for themselves, `[` too: ids have parameters in brackets. Pure. Not for globs
// on paths (suites/glob.h).
#pragma once

#include <compare>
#include <cstddef>
#include <string_view>

namespace compat::analysis {

// Whether the pattern matches the whole id.
[[nodiscard]] bool pattern_matches(std::string_view pattern, std::string_view id);

// Whether the pattern could match the id of some test in the module.
[[nodiscard]] bool could_match_in(std::string_view pattern, std::string_view module);

// Of two patterns that match one id, the greater is more specific: it has more literal characters,
// then fewer wildcards.
struct Specificity {
    std::ptrdiff_t literals = 0;
    std::ptrdiff_t fewer_wildcards = 0;  // their number, negative

    friend auto operator<=>(const Specificity&, const Specificity&) = default;
};
[[nodiscard]] Specificity specificity_of(std::string_view pattern);

// Whether it has no wildcard.
[[nodiscard]] bool is_exact(std::string_view pattern);

}  // namespace compat::analysis
