#include "parsers/python_repr.h"

#include <charconv>
#include <cstdint>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

void append_utf8(std::string& out, std::uint32_t code) {
    if (code < 0x80) {
        out += static_cast<char>(code);
        return;
    }
    const std::uint32_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint32_t kLead[] = {0, 0xC0, 0xE0, 0xF0};
    out += static_cast<char>(kLead[more] | (code >> 6 * more & 0x3F >> more));
    for (std::uint32_t i = more; i-- > 0;) out += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
}

struct Escape {
    char letter;
    size_t digits;  // of the character's number in hexadecimal, which follow
    char meaning;   // without such
};
constexpr Escape kEscapes[] = {{'n', 0, '\n'},  {'t', 0, '\t'},  {'r', 0, '\r'},
                               {'\\', 0, '\\'}, {'\'', 0, '\''}, {'"', 0, '"'},
                               {'x', 2, {}},    {'u', 4, {}},    {'U', 8, {}}};

// Appends what the escape at the start of `text`, its backslash left out, means. Its length; 0: it
// is none.
size_t append_escaped(std::string& out, std::string_view text) {
    for (const Escape& escape : kEscapes) {
        if (text.empty() || text[0] != escape.letter) continue;
        std::uint32_t code = static_cast<unsigned char>(escape.meaning);
        const char* const end = text.data() + 1 + escape.digits;
        if (text.size() <= escape.digits ||
            (escape.digits > 0 && std::from_chars(text.data() + 1, end, code, 16).ptr != end))
            continue;
        append_utf8(out, code);
        return 1 + escape.digits;
    }
    return 0;
}

}  // namespace

std::string unquoted_python(std::string_view text) {
    const bool quoted =
        text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
    if (!quoted) return valid_utf8(text);
    text = text.substr(1, text.size() - 2);
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const size_t length = text[i] == '\\' ? append_escaped(out, text.substr(i + 1)) : 0;
        if (length == 0) out += text[i];
        i += length;
    }
    return valid_utf8(out);
}

}  // namespace compat::parsers
