#include "runner/display/columns.h"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "runner/base/secrets.h"

namespace compat::display {

namespace {

struct Character {
    std::string_view bytes;
    std::size_t columns = 1;
};

constexpr char32_t kBroken = 0xFFFD;
constexpr char32_t kEmojiStyle = 0xFE0F;  // makes the character before it as wide as an emoji

// The code point at the start of `text`, which is not empty, and how many bytes it has.
char32_t code_point(std::string_view text, std::size_t& bytes) {
    const auto first = static_cast<unsigned char>(text.front());
    const std::size_t length = first < 0x80             ? 1
                               : (first & 0xe0) == 0xc0 ? 2
                               : (first & 0xf0) == 0xe0 ? 3
                               : (first & 0xf8) == 0xf0 ? 4
                                                        : 0;
    bytes = 1;
    if (length == 1) return first;
    if (length == 0 || text.size() < length) return kBroken;
    char32_t point = first & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xc0) != 0x80) return kBroken;
        point = point << 6 | (next & 0x3fu);
    }
    bytes = length;
    return point;
}

// Marks that change the writing direction of the text around them.
bool is_direction(char32_t point) {
    return point == 0x200e || point == 0x200f || (point >= 0x202a && point <= 0x202e) ||
           (point >= 0x2066 && point <= 0x2069);
}

// Negative: not printable.
int width_of(char32_t point) {
    if (point >= 0x20 && point < 0x7f) return 1;
    if (point == kEmojiStyle) return 1;
    if (is_direction(point)) return -1;
    static const locale_t utf8 = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
    if (utf8 == nullptr) return point < 0x20 ? -1 : 2;
    const locale_t before = ::uselocale(utf8);
    const int width = ::wcwidth(static_cast<wchar_t>(point));
    ::uselocale(before);
    return width;
}

Character next_character(std::string_view text) {
    std::size_t bytes = 1;
    const char32_t point = code_point(text, bytes);
    const int width = point == kBroken && bytes == 1 ? -1 : width_of(point);
    if (width < 0) return {"?", 1};
    return {text.substr(0, bytes), static_cast<std::size_t>(width)};
}

std::size_t length_of_next(std::string_view text) {
    std::size_t bytes = 1;
    code_point(text, bytes);
    return bytes;
}

}  // namespace

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    for (; !text.empty(); text.remove_prefix(length_of_next(text)))
        columns += next_character(text).columns;
    return columns;
}

std::string cut_to(std::string_view unmasked, std::size_t columns) {
    // Where nothing is cut, no part of a secret is left: whoever prints it masks it.
    const bool fits = columns_of(unmasked) <= columns;
    const std::string masked = fits ? std::string(unmasked) : mask_own_secrets(unmasked);
    std::string_view text = masked;
    std::string whole, shorter;  // `shorter`: what leaves room for the ellipsis
    std::size_t used = 0;
    for (; !text.empty(); text.remove_prefix(length_of_next(text))) {
        const Character next = next_character(text);
        used += next.columns;
        if (used > columns) return columns == 0 ? std::string() : shorter + "…";
        whole += next.bytes;
        if (used < columns) shorter = whole;
    }
    return whole;
}

std::string wrapped(std::string_view text, std::size_t columns, std::size_t indent) {
    std::string lines;
    std::size_t used = 0;
    bool line_has_word = false;
    while (!text.empty()) {
        const std::size_t spaces = std::min(text.find_first_not_of(' '), text.size());
        const std::size_t end = std::min(text.find(' ', spaces), text.size());
        const std::string_view word = text.substr(spaces, end - spaces);
        text.remove_prefix(end);
        const std::size_t width = columns_of(word);
        if (line_has_word && used + spaces + width > columns) {
            lines += '\n' + std::string(indent, ' ');
            used = indent;
        } else {
            lines.append(spaces, ' ');
            used += spaces;
        }
        lines += word;
        used += width;
        line_has_word = true;
    }
    return lines + '\n';
}

}  // namespace compat::display
