#include "runner/display/columns.h"

#include <algorithm>
#include <clocale>
#include <cwchar>

#include "runner/base/secrets.h"
#include "runner/base/text.h"

namespace compat::display {

namespace {

// As it is drawn.
struct Drawn {
    std::string_view bytes;
    std::size_t columns = 1;
    std::size_t length = 1;  // bytes of the text that it stands for
};

constexpr char32_t kEmojiStyle = 0xFE0F;  // makes the character before it as wide as an emoji

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

Drawn first_drawn(std::string_view text) {
    const Character first = first_character(text);
    const std::size_t length = std::max<std::size_t>(first.bytes, 1);
    const int width = first.bytes == 0 ? -1 : width_of(first.code);
    if (width < 0) return {"?", 1, length};
    return {text.substr(0, length), static_cast<std::size_t>(width), length};
}

}  // namespace

std::size_t columns_of(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const Drawn next = first_drawn(text);
        columns += next.columns;
        text.remove_prefix(next.length);
    }
    return columns;
}

std::string cut_to(std::string_view unmasked, std::size_t columns) {
    // Where nothing is cut, no part of a secret is left: whoever prints it masks it.
    const bool fits = columns_of(unmasked) <= columns;
    const std::string masked = fits ? std::string(unmasked) : mask_own_secrets(unmasked);
    std::string_view text = masked;
    std::string whole, shorter;  // `shorter`: what leaves room for the ellipsis
    std::size_t used = 0;
    while (!text.empty()) {
        const Drawn next = first_drawn(text);
        text.remove_prefix(next.length);
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
