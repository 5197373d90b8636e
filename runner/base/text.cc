#include "runner/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/locale/utf.hpp>
#include <cstdlib>
#include <utility>

namespace compat {

namespace utf = boost::locale::utf;

namespace {

// Characters that some terminals obey, that reorder or hide the text around them, or that are
// invisible (Unicode TR 9, TR 36). reports/html/web/src/text.ts has the same.
constexpr std::array<std::pair<char32_t, char32_t>, 12> kDeceptive{{
    {0x80, 0x9f},
    {0xad, 0xad},
    {0x034f, 0x034f},
    {0x061c, 0x061c},
    {0x115f, 0x1160},
    {0x180e, 0x180e},
    {0x200b, 0x200f},
    {0x2028, 0x202e},
    {0x2060, 0x206f},
    {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},
    {0xe0000, 0xe0fff},
}};

}  // namespace

Character first_character(std::string_view text) {
    const auto* at = text.data();
    const auto code = utf::utf_traits<char>::decode(at, text.data() + text.size());
    if (!utf::is_valid_codepoint(code)) return {};
    return {code, static_cast<size_t>(at - text.data())};
}

Character deceptive_character(std::string_view text) {
    const Character found = first_character(text);
    const bool is_one =
        std::any_of(kDeceptive.begin(), kDeceptive.end(), [&](const auto& range) {
            return found.code >= range.first && found.code <= range.second;
        });
    return is_one ? found : Character{};
}

std::string printable(std::string_view text) {
    std::string out;
    for (; !text.empty();) {
        const auto byte = static_cast<unsigned char>(text.front());
        const Character next = first_character(text);
        const size_t bytes = std::max<size_t>(next.bytes, 1);
        if (byte == '\n' || byte == '\t')
            out += ' ';
        else if (byte < 0x20 || byte == 0x7f || next.bytes == 0)
            out += fmt::format("\\x{:02x}", byte);  // of no UTF-8: some terminals obey it
        else if (deceptive_character(text).bytes > 0)
            out += next.code > 0xffff ? fmt::format("\\U{:08x}", std::uint32_t{next.code})
                                      : fmt::format("\\u{:04x}", std::uint32_t{next.code});
        else
            out += text.substr(0, bytes);
        text.remove_prefix(bytes);
    }
    return out;
}

std::string counted(long n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string counted(long n, std::string_view noun, std::string_view plural) {
    return fmt::format("{} {}", n, n == 1 ? noun : plural);
}

std::string format_size(std::uint64_t bytes) {
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
