#include "runner/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace compat {

namespace {

// What some terminals obey, and what reorders or hides the text around it (Unicode TR 9, TR 36).
constexpr std::array<std::pair<char32_t, char32_t>, 6> kDeceptive{{
    {0x80, 0x9f},
    {0x061c, 0x061c},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2066, 0x2069},
    {0xfeff, 0xfeff},
}};

}  // namespace

Character deceptive_character(std::string_view text) {
    const auto byte = [&](size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    Character found;
    if ((byte(0) & 0xe0) == 0xc0 && follows(1))
        found = {(byte(0) & 0x1f) << 6 | (byte(1) & 0x3f), 2};
    else if ((byte(0) & 0xf0) == 0xe0 && follows(1) && follows(2))
        found = {(byte(0) & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
    const bool is_one =
        std::any_of(kDeceptive.begin(), kDeceptive.end(), [&](const auto& range) {
            return found.code >= range.first && found.code <= range.second;
        });
    return is_one ? found : Character{};
}

std::string printable(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const Character hidden = deceptive_character(text.substr(i));
        if (hidden.bytes > 0) {
            out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(hidden.code));
            i += hidden.bytes - 1;
        } else if (byte < 0x20 || byte == 0x7f) {
            out += byte == '\n' || byte == '\t' ? std::string(" ") : fmt::format("\\x{:02x}", byte);
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string counted(long n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string counted(long n, std::string_view noun, std::string_view plural) {
    return fmt::format("{} {}", n, n == 1 ? noun : plural);
}

std::string size_words(std::uint64_t bytes) {
    constexpr double kStep = 1024;
    if (bytes < 1024) return fmt::format("{} B", bytes);
    auto size = static_cast<double>(bytes) / kStep;
    const char* unit = "KiB";
    for (const char* next : {"MiB", "GiB", "TiB"}) {
        if (size < kStep - 0.05) break;  // "1024.0 KiB" is 1.0 MiB
        size /= kStep;
        unit = next;
    }
    return fmt::format("{:.1f} {}", size, unit);
}

std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(" \t\r");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

std::string tilde_path(std::string_view path) {
    const char* variable = std::getenv("HOME");
    std::string_view home(variable ? variable : "");
    while (home.ends_with('/')) home.remove_suffix(1);
    const bool inside =
        !home.empty() && path.starts_with(home) && path.substr(home.size()).starts_with('/');
    return inside ? "~" + std::string(path.substr(home.size())) : std::string(path);
}

}  // namespace compat
