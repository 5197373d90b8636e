#include "parsers/unittest_header.h"

namespace compat::parsers {

namespace {
// Python's identifiers may hold any letter; all bytes past ASCII are taken for letters.
bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           static_cast<unsigned char>(c) >= 0x80;
}

size_t word_length(std::string_view text, std::string_view also) {
    size_t n = 0;
    while (n < text.size() && (is_word(text[n]) || also.find(text[n]) != std::string_view::npos))
        ++n;
    return n;
}
}  // namespace

std::optional<UnittestHeader> header_of(std::string_view line) {
    // Names made by parametrising libraries hold more than identifiers do.
    const size_t method = word_length(line, ".-");
    if (method == 0 || !line.substr(method).starts_with(" (")) return std::nullopt;
    const std::string_view inside = line.substr(method + 2);
    const size_t qualified = word_length(inside, ".<>-");
    if (qualified == 0 || qualified >= inside.size() || inside[qualified] != ')')
        return std::nullopt;
    return UnittestHeader{line.substr(0, method), inside.substr(0, qualified),
                          inside.substr(qualified + 1)};
}

}  // namespace compat::parsers
