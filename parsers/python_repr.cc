#include "parsers/python_repr.h"

#include <charconv>
#include <cstdint>

#include "parsers/text.h"

namespace compat::parsers {

namespace {
void append_utf8(std::string& out, std::uint32_t c) {
    const auto put = [&](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6);
        put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12);
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | (c >> 18 & 7));
        put(0x80 | (c >> 12 & 0x3F));
        put(0x80 | (c >> 6 & 0x3F));
        put(0x80 | (c & 0x3F));
    }
}

struct Escape {
    char letter;
    char meaning;
};
constexpr Escape kEscapes[] = {{'n', '\n'},  {'t', '\t'},  {'r', '\r'},
                               {'\\', '\\'}, {'\'', '\''}, {'"', '"'}};
struct HexEscape {
    char letter;
    size_t digits;
};
constexpr HexEscape kHexEscapes[] = {{'x', 2}, {'u', 4}, {'U', 8}};
}  // namespace

std::string unquoted_python(std::string_view text) {
    const bool quoted =
        text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
    if (!quoted) return valid_utf8(text);
    text = text.substr(1, text.size() - 2);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\\' || i + 1 == text.size()) {
            out += text[i];
            continue;
        }
        const char letter = text[i + 1];
        bool done = false;
        for (const Escape& e : kEscapes)
            if (e.letter == letter) {
                out += e.meaning;
                ++i;
                done = true;
                break;
            }
        for (const HexEscape& e : kHexEscapes) {
            if (done || e.letter != letter || i + 2 + e.digits > text.size()) continue;
            std::uint32_t code = 0;
            const char* first = text.data() + i + 2;
            const auto [end, error] = std::from_chars(first, first + e.digits, code, 16);
            if (error != std::errc{} || end != first + e.digits) continue;
            append_utf8(out, code);
            i += 1 + e.digits;
            done = true;
        }
        if (!done) out += text[i];
    }
    return valid_utf8(out);
}

}  // namespace compat::parsers
