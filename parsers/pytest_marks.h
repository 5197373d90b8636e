// The lines of a log that may begin or end a session of pytest's, or its summary, found ahead of
// the reading: which of them are a session's own shows in what follows. Tests print such lines,
// too, and whole sessions. Not for what stands between them: pytest_scanner.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "parsers/record.h"

namespace compat::parsers {

struct PytestMark {
    enum class Kind : std::uint8_t {
        start,    // "=== test session starts ===", also behind a test's name (-s)
        closing,  // "=== 1 passed in 0.1s ==="
        plain,    // of -q: "1 passed in 0.1s"
        summary,  // "=== short test summary info ==="
    };
    static constexpr std::uint32_t kNone = UINT32_MAX;

    size_t offset = 0;  // of its line
    size_t after = 0;   // where the next line begins
    std::uint32_t width = 0;
    bool overfull = false;  // its text alone takes more than a terminal's width
    // Of a start the closing that ends what it begins and of a closing that start, as brackets
    // pair, both as wide: an index.
    std::uint32_t pair = kNone;
    Kind kind = Kind::start;
};

// In the order of the text.
[[nodiscard]] std::vector<PytestMark> pytest_marks(std::string_view text);

// Whether a mark is as pytest writes it to a terminal of so many columns.
[[nodiscard]] inline bool fills_terminal(const PytestMark& mark, std::uint32_t width) {
    return mark.width == width || (mark.overfull && mark.width > width);
}

// The closing that such a mark is.
[[nodiscard]] Closing closing_at(std::string_view text, const PytestMark& mark);

// How many columns a line takes, if none of its characters is wide: pytest counts them so.
[[nodiscard]] std::uint32_t columns_of(std::string_view line);

// Whether a rule ("=== text ===") is as pytest makes it for a terminal of so many columns: all of
// them, or more where its text alone fills them.
[[nodiscard]] bool fills_terminal(std::string_view line, std::uint32_t width);

}  // namespace compat::parsers
