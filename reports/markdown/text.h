// Escapes text from outside for Markdown: it stands in a code span or a fence and cannot end it.
// Pure.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace compat::reports {

// Valid UTF-8 without terminal escapes and control characters; line ends as "\n", tabs kept.
[[nodiscard]] std::string printable(std::string_view text);

// A code span of one line: line ends become spaces. Longer text is cut to `max_chars` characters
// and "…". Empty for empty text.
[[nodiscard]] std::string code(std::string_view text, std::size_t max_chars = 500);

// Markdown as a table cell: escapes bars, which end a cell even in a code span.
[[nodiscard]] std::string cell(std::string_view markdown);

// A table row without its line end. Cells are Markdown.
template <class... Cells>
[[nodiscard]] std::string row(const Cells&... cells) {
    std::string line = "|";
    ((line += fmt::format(" {} |", cell(fmt::to_string(cells)))), ...);
    return line;
}

// A linked code span; without `url` a plain one.
[[nodiscard]] std::string linked_code(std::string_view text, std::string_view url);

// A sentence of ours or of the gap log, on one line: what stands between backticks is a code span,
// the rest plain text.
[[nodiscard]] std::string prose(std::string_view text);

// Escaped for an HTML element, on one line.
[[nodiscard]] std::string html(std::string_view text);

// Markdown that a click opens. `summary` is HTML.
[[nodiscard]] std::string folded(std::string_view summary, std::string_view body);

// A fenced block that ends with a line end. If it exceeds `max_bytes`, a note replaces the middle
// lines.
[[nodiscard]] std::string fenced(std::string_view language, std::string_view text,
                                 std::size_t max_bytes = std::string_view::npos);

}  // namespace compat::reports
