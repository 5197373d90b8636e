#include "parsers/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>

#include "runner/base/names.h"

namespace compat::parsers {

namespace {
constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// How many bytes at the front are ASCII, in whole words of eight but for the last ones.
size_t ascii_length(std::string_view bytes) {
    constexpr std::uint64_t kHighBits = 0x8080808080808080u;
    size_t n = 0;
    for (std::uint64_t word = 0; n + sizeof word <= bytes.size(); n += sizeof word) {
        std::memcpy(&word, bytes.data() + n, sizeof word);
        if ((word & kHighBits) != 0) return n;
    }
    while (n < bytes.size() && static_cast<unsigned char>(bytes[n]) < 0x80) ++n;
    return n;
}
}  // namespace

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

void append_valid_utf8(std::string& to, std::string_view bytes) {
    size_t valid = 0;  // length of the run of valid sequences at the front
    while (valid < bytes.size()) {
        valid += ascii_length(bytes.substr(valid));
        if (valid == bytes.size()) break;
        if (const size_t length = utf8_length(bytes.substr(valid)); length > 0) {
            valid += length;
            continue;
        }
        to.append(bytes.substr(0, valid)).append(kReplacement);
        bytes.remove_prefix(valid + 1);
        valid = 0;
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

void Diagnoser::add(size_t offset, std::string message) {
    add_to(others_, offset, std::move(message));
}

void Diagnoser::totals_differ(size_t offset, std::string_view what) {
    add_to(totals_, offset, fmt::format("{}{}", kTotalsDiffer, what));
}

void Diagnoser::add_to(Count& count, size_t offset, std::string message) {
    count.last_offset = offset;
    if (++count.seen <= kMost)
        into_.push_back(
            {std::string(file_), static_cast<std::int64_t>(offset), std::move(message)});
}

void Diagnoser::say_the_rest(const Count& count, std::string_view before) {
    if (count.seen > kMost)
        into_.push_back(
            {std::string(file_), static_cast<std::int64_t>(count.last_offset),
             fmt::format("{}{} more like these, the last one here", before, count.seen - kMost)});
}

Diagnoser::~Diagnoser() {
    say_the_rest(others_, "");
    say_the_rest(totals_, kTotalsDiffer);
}

}  // namespace compat::parsers
