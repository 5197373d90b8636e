#include "runner/base/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

namespace compat {

namespace {
constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
// Longest file name most file systems take, less the longest suffix we add to one.
constexpr size_t kLongestComponent = 200;
}  // namespace

std::string make_run_id(std::string_view series, WallTime now, unsigned random16) {
    return fmt::format("{}_{}-{:04x}", escaped_component(series), compact(now), random16 & 0xffffu);
}

std::string escaped_component(std::string_view name) {
    if (name.empty()) return "%";
    if (name == ".") return "%2E";
    if (name == "..") return "%2E%2E";
    std::string out;
    for (const char c : name) {
        if (kPlain.find(c) != std::string_view::npos)
            out += c;
        else
            out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    if (out.size() > kLongestComponent) {
        // Cut, and keep what was cut apart by a hash (FNV-1a) of the whole name.
        std::uint64_t hash = 14695981039346656037ull;
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
        out = fmt::format("{}%{:016x}", out.substr(0, kLongestComponent - 17), hash);
    }
    return out;
}

std::filesystem::path escaped_path(std::string_view module) {
    std::filesystem::path path;
    size_t begin = 0;
    while (true) {
        const size_t end = module.find('/', begin);
        path /= escaped_component(module.substr(begin, end - begin));
        if (end == std::string_view::npos) return path;
        begin = end + 1;
    }
}

bool is_secret_name(std::string_view name) {
    std::string upper(name);
    std::transform(upper.begin(), upper.end(), upper.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    constexpr std::array<std::string_view, 4> kWords{"TOKEN", "KEY", "SECRET", "PASSWORD"};
    return std::any_of(kWords.begin(), kWords.end(),
                       [&](auto word) { return upper.find(word) != std::string::npos; });
}

// RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view bytes) {
    for (size_t i = 0; i < bytes.size();) {
        const auto at = [&](size_t k) { return static_cast<unsigned char>(bytes[k]); };
        const unsigned char lead = at(i);
        const size_t length = lead < 0x80   ? 1
                              : lead < 0xc2 ? 0
                              : lead < 0xe0 ? 2
                              : lead < 0xf0 ? 3
                              : lead < 0xf5 ? 4
                                            : 0;
        if (length == 0 || i + length > bytes.size()) return false;
        for (size_t k = 1; k < length; ++k)
            if ((at(i + k) & 0xc0) != 0x80) return false;
        if (length > 2) {
            const unsigned char second = at(i + 1);
            if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
                (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f))
                return false;
        }
        i += length;
    }
    return true;
}

std::string shell_quoted(std::string_view word) {
    constexpr std::string_view kSafe =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/:=,+@%";
    if (!word.empty() && word.find_first_not_of(kSafe) == std::string_view::npos)
        return std::string(word);
    std::string out = "'";
    for (const char c : word) {
        if (c == '\'')
            out += "'\\''";
        else
            out += c;
    }
    return out + "'";
}

}  // namespace compat
