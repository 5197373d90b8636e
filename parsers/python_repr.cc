#include "parsers/python_repr.h"

#include <re2/re2.h>

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

}  // namespace

std::string unquoted_python(std::string_view text) {
    static const RE2 part(
        R"re((?s)([^\\]+|\\(?:(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})|([ntr\\'"]))?))re",
        RE2::Latin1);
    const bool quoted =
        text.size() >= 2 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
    if (!quoted) return valid_utf8(text);
    re2::StringPiece rest = text.substr(1, text.size() - 2);
    re2::StringPiece whole;
    std::string out, number, letter;
    while (RE2::Consume(&rest, part, &whole, &number, &letter)) {
        constexpr std::string_view kLetters = "ntr\\'\"", kMeanings = "\n\t\r\\'\"";
        if (!number.empty())
            append_utf8(out, static_cast<std::uint32_t>(std::stoul(number.substr(1), nullptr, 16)));
        else if (!letter.empty())
            out += kMeanings[kLetters.find(letter)];
        else
            out.append(whole.data(), whole.size());
    }
    return valid_utf8(out);
}

}  // namespace compat::parsers
