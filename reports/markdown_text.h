// Text from outside as Markdown: whatever it holds, it can neither end its place nor begin
// something else. The rule is one: what comes from outside stands in a code span or a fence. Pure.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace compat::reports {

// Valid UTF-8 without terminal escapes and control characters; line ends as "\n", tabs kept.
[[nodiscard]] std::string printable(std::string_view text);

// One line in a code span: line ends become spaces. At most `max_chars`
// characters, the rest as "…". Empty for an empty text.
[[nodiscard]] std::string code(std::string_view text, std::size_t max_chars = 500);

// Markdown as a table's cell, which bars would end, in a code span, too.
[[nodiscard]] std::string cell(std::string_view markdown);

// A table's row without its line end. Cells are Markdown already.
template <class... Cells>
[[nodiscard]] std::string row(const Cells&... cells) {
    std::string line = "|";
    ((line += fmt::format(" {} |", cell(fmt::to_string(cells)))), ...);
    return line;
}

// A code span that leads to `url`; without one, the code span alone.
[[nodiscard]] std::string linked_code(std::string_view text, std::string_view url);

// As part of an HTML element, on one line.
[[nodiscard]] std::string html(std::string_view text);

// A fenced block; ends with a line end. Of more than `max_bytes` the middle lines are left out, and
// the block says how many.
[[nodiscard]] std::string fenced(std::string_view language, std::string_view text,
                                 std::size_t max_bytes = std::string_view::npos);

}  // namespace compat::reports
