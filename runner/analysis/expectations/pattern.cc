#include "runner/analysis/expectations/pattern.h"

#include <algorithm>

namespace compat::analysis {

namespace {

constexpr std::string_view kEscaped = "*?\\";

bool can_be_escaped(char c) { return kEscaped.find(c) != std::string_view::npos; }

// One element of a pattern.
struct Element {
    enum class Kind { literal, one, any };
    Kind kind = Kind::literal;
    char literal = 0;
    std::size_t size = 1;  // in the pattern

    [[nodiscard]] bool matches(char c) const {
        return kind == Kind::one || (kind == Kind::literal && literal == c);
    }
};

// `at`: before the end of the pattern.
Element element_at(std::string_view pattern, std::size_t at) {
    const char c = pattern[at];
    if (c == '*') return {Element::Kind::any, c, 1};
    if (c == '?') return {Element::Kind::one, c, 1};
    if (c == '\\' && at + 1 < pattern.size() && can_be_escaped(pattern[at + 1]))
        return {Element::Kind::literal, pattern[at + 1], 2};
    return {Element::Kind::literal, c, 1};
}

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view id) {
    std::size_t p = 0, i = 0;
    std::size_t after_star = std::string_view::npos, retry = 0;  // where to try again
    while (i < id.size()) {
        const Element element = p < pattern.size() ? element_at(pattern, p) : Element{};
        if (p < pattern.size() && element.kind == Element::Kind::any) {
            after_star = ++p;
            retry = i;
        } else if (p < pattern.size() && element.matches(id[i])) {
            p += element.size;
            ++i;
        } else if (after_star != std::string_view::npos) {
            p = after_star;
            i = ++retry;
        } else {
            return false;
        }
    }
    while (p < pattern.size() && pattern[p] == '*') ++p;
    return p == pattern.size();
}

ModulePattern::ModulePattern(std::string_view pattern)
    : pattern_(pattern), literal_(pattern.substr(0, pattern.find_first_of(kEscaped))) {}

bool ModulePattern::could_match_in(std::string_view module) const {
    constexpr std::string_view kSeparator = "::";
    // Most modules differ before the first wildcard.
    const std::size_t shorter = std::min(literal_.size(), module.size());
    if (literal_.substr(0, shorter) != module.substr(0, shorter)) return false;
    std::size_t p = 0;
    for (const std::string_view part : {module, kSeparator})
        for (const char c : part) {
            if (p == pattern_.size()) return false;
            const Element element = element_at(pattern_, p);
            // It stands for the rest of the module, and for what the pattern's rest needs.
            if (element.kind == Element::Kind::any) return true;
            if (!element.matches(c)) return false;
            p += element.size;
        }
    return p < pattern_.size();
}

Specificity specificity_of(std::string_view pattern) {
    Specificity specificity;
    for (std::size_t p = 0; p < pattern.size();) {
        const Element element = element_at(pattern, p);
        ++(element.kind == Element::Kind::literal ? specificity.literals
                                                  : specificity.fewer_wildcards);
        p += element.size;
    }
    specificity.fewer_wildcards = -specificity.fewer_wildcards;
    return specificity;
}

bool is_exact(std::string_view pattern) { return specificity_of(pattern).fewer_wildcards == 0; }

std::string id_of(std::string_view exact_pattern) {
    std::string id;
    for (std::size_t p = 0; p < exact_pattern.size();) {
        const Element element = element_at(exact_pattern, p);
        id += element.literal;
        p += element.size;
    }
    return id;
}

std::string pattern_of(std::string_view id) {
    std::string pattern;
    for (std::size_t i = 0; i < id.size(); ++i) {
        const bool would_escape = i + 1 < id.size() && can_be_escaped(id[i + 1]);
        if (id[i] == '\\' ? would_escape : can_be_escaped(id[i])) pattern += '\\';
        pattern += id[i];
    }
    return pattern;
}

bool is_pattern_of(std::string_view pattern, std::string_view id) {
    return is_exact(pattern) && pattern_matches(pattern, id);
}

}  // namespace compat::analysis
