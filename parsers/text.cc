#include "parsers/text.h"

#include <fmt/format.h>

#include <charconv>

#include "runner/base/names.h"

namespace compat::parsers {

namespace {
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
}  // namespace

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

void append_valid_utf8(std::string& to, std::string_view bytes) {
    size_t valid = 0;  // length of the run of valid sequences at the front
    while (valid < bytes.size()) {
        if (static_cast<unsigned char>(bytes[valid]) < 0x80) {
            ++valid;  // most bytes
        } else if (const size_t length = utf8_length(bytes.substr(valid)); length > 0) {
            valid += length;
        } else {
            to.append(bytes.substr(0, valid)).append(kReplacement);
            bytes.remove_prefix(valid + 1);
            valid = 0;
        }
    }
    to.append(bytes);
}

std::string valid_utf8(std::string_view bytes) {
    std::string out;
    append_valid_utf8(out, bytes);
    return out;
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

void Diagnoser::add(size_t offset, std::string_view message) { add_to(others_, offset, message); }

void Diagnoser::totals_differ(size_t offset, std::string_view what) {
    add_to(totals_, offset, what);
}

void Diagnoser::add_to(Kind& kind, size_t offset, std::string_view message) {
    kind.last_offset = offset;
    if (++kind.seen <= kMost)
        into_.push_back({std::string(file_), static_cast<std::int64_t>(offset),
                         fmt::format("{}{}", kind.before, message)});
}

Diagnoser::~Diagnoser() {
    for (const Kind& kind : {others_, totals_})
        if (kind.seen > kMost)
            into_.push_back({std::string(file_), static_cast<std::int64_t>(kind.last_offset),
                             fmt::format("{}{} more like these, the last one here", kind.before,
                                         kind.seen - kMost)});
}

}  // namespace compat::parsers
