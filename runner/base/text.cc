#include "runner/base/text.h"

#include <fmt/format.h>

#include <cstdlib>

namespace compat {

std::string printable(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
            // U+0080 to U+009F are control characters, which some terminals obey.
            out += fmt::format("\\u{:04x}", next);
            ++i;
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
