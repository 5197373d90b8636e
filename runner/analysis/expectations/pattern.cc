#include "runner/analysis/expectations/pattern.h"

#include <algorithm>
#include <string>
#include <vector>

namespace compat::analysis {

bool pattern_matches(std::string_view pattern, std::string_view id) {
    std::size_t p = 0, i = 0;
    std::size_t star = std::string_view::npos, after_star = 0;  // where to try again
    while (i < id.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            after_star = i;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == id[i])) {
            ++p;
            ++i;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            i = ++after_star;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

bool could_match_in(std::string_view pattern, std::string_view module) {
    const std::string prefix = std::string(module) + "::";
    // Places in the pattern at which the rest of an id may go on.
    std::vector<bool> at(pattern.size() + 1);
    const auto skip_stars = [&] {
        for (std::size_t p = 0; p < pattern.size(); ++p)
            if (at[p] && pattern[p] == '*') at[p + 1] = true;
    };
    at[0] = true;
    skip_stars();
    for (const char c : prefix) {
        std::vector<bool> next(at.size());
        for (std::size_t p = 0; p < pattern.size(); ++p) {
            if (!at[p]) continue;
            if (pattern[p] == '*') next[p] = true;
            if (pattern[p] == '?' || pattern[p] == c) next[p + 1] = true;
        }
        at = std::move(next);
        skip_stars();
    }
    // What is left stands for at least one character, or may.
    for (std::size_t p = 0; p < pattern.size(); ++p)
        if (at[p]) return true;
    return false;
}

Specificity specificity_of(std::string_view pattern) {
    const auto wildcards =
        std::count_if(pattern.begin(), pattern.end(), [](char c) { return c == '*' || c == '?'; });
    return {static_cast<std::ptrdiff_t>(pattern.size()) - wildcards, -wildcards};
}

bool is_exact(std::string_view pattern) {
    return pattern.find_first_of("*?") == std::string_view::npos;
}

}  // namespace compat::analysis
