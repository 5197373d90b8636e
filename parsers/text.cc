#include "parsers/text.h"

#include <fmt/format.h>

#include <charconv>

namespace compat::parsers {

namespace {
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// Length of the valid UTF-8 sequence at the start of `s`, 0 where there is none (RFC 3629: no
// overlong forms, no surrogates, nothing past U+10FFFF).
size_t sequence_length(std::string_view s) {
    const auto byte = [&](size_t i) { return static_cast<unsigned char>(s[i]); };
    const auto continues = [&](size_t i) { return i < s.size() && (byte(i) & 0xC0u) == 0x80u; };
    const unsigned char b = byte(0);
    if (b < 0x80) return 1;
    if (b >= 0xC2 && b <= 0xDF) return continues(1) ? 2 : 0;
    if (b >= 0xE0 && b <= 0xEF) {
        if (!continues(1) || !continues(2)) return 0;
        if (b == 0xE0 && byte(1) < 0xA0) return 0;
        if (b == 0xED && byte(1) > 0x9F) return 0;
        return 3;
    }
    if (b >= 0xF0 && b <= 0xF4) {
        if (!continues(1) || !continues(2) || !continues(3)) return 0;
        if (b == 0xF0 && byte(1) < 0x90) return 0;
        if (b == 0xF4 && byte(1) > 0x8F) return 0;
        return 4;
    }
    return 0;
}
}  // namespace

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::string valid_utf8(std::string_view bytes) {
    std::string out;
    out.reserve(bytes.size());
    size_t valid = 0;  // length of the run of valid sequences at the front
    while (valid < bytes.size()) {
        if (const size_t length = sequence_length(bytes.substr(valid)); length > 0) {
            valid += length;
            continue;
        }
        out.append(bytes.substr(0, valid)).append(kReplacement);
        bytes.remove_prefix(valid + 1);
        valid = 0;
    }
    return out.append(bytes);
}

std::string without_ansi(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '\x1b') {
            out += text[i];
            continue;
        }
        // CSI: ESC [ parameters, ended by a byte from @ to ~. Any other escape is one byte long.
        if (++i < text.size() && text[i] == '[')
            while (++i < text.size() && (text[i] < '@' || text[i] > '~')) {
            }
    }
    return out;
}

std::optional<std::int64_t> number_of(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
    return value;
}

void Diagnoser::add(size_t offset, std::string message) {
    last_offset_ = offset;
    if (++count_ <= kMost)
        into_.push_back(
            {std::string(file_), static_cast<std::int64_t>(offset), std::move(message)});
}

Diagnoser::~Diagnoser() {
    if (count_ > kMost)
        into_.push_back({std::string(file_), static_cast<std::int64_t>(last_offset_),
                         fmt::format("{} more like these, the last one here", count_ - kMost)});
}

}  // namespace compat::parsers
