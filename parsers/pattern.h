// A regular expression for one line, whole, at its beginning or at its end, with what its groups
// took. Not for many expressions looked for in one text (diagnosis/pattern_set.h).
#pragma once

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace compat::parsers {

// Bytes are Latin-1, so that any text can be matched; in time linear in the line. Safe to share.
class Pattern {
  public:
    // [0] is the whole line; a group that took nothing is empty.
    using Groups = std::array<std::string_view, 7>;

    explicit Pattern(const char* expression) : re_(expression, options()) {}

    [[nodiscard]] std::optional<Groups> match(std::string_view line) const {
        return matched(line, RE2::ANCHOR_BOTH);
    }
    // [0] is as much of the line as matches.
    [[nodiscard]] std::optional<Groups> match_beginning(std::string_view line) const {
        return matched(line, RE2::ANCHOR_START);
    }

    // The longest end of the line that matches an expression with "$" at its end; empty: none does.
    [[nodiscard]] std::string_view search_end(std::string_view line) const {
        re2::StringPiece found;
        const bool any =
            re_.Match({line.data(), line.size()}, 0, line.size(), RE2::UNANCHORED, &found, 1);
        return any ? std::string_view(found.data(), found.size()) : std::string_view();
    }

  private:
    [[nodiscard]] std::optional<Groups> matched(std::string_view line, RE2::Anchor anchor) const {
        std::array<re2::StringPiece, std::tuple_size_v<Groups>> found;
        if (!re_.Match({line.data(), line.size()}, 0, line.size(), anchor, found.data(),
                       std::min(1 + re_.NumberOfCapturingGroups(), static_cast<int>(found.size()))))
            return std::nullopt;
        Groups groups;
        for (size_t i = 0; i < groups.size(); ++i) groups[i] = {found[i].data(), found[i].size()};
        return groups;
    }

    static RE2::Options options() {
        RE2::Options options(RE2::Latin1);
        options.set_dot_nl(true);
        return options;
    }

    RE2 re_;
};

}  // namespace compat::parsers
