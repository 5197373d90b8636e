#include "runner/base/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>

#include "runner/base/text.h"

namespace compat {

const std::string_view kVersion = COMPAT_VERSION;

namespace {
constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
// The limit of most file systems, less our longest suffix.
constexpr size_t kLongestComponent = 200;

// Whether the byte continues a UTF-8 character.
bool inside_character(std::string_view text, size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0u) == 0x80u;
}
}  // namespace

std::string make_run_id(std::string_view series, WallTime now, unsigned random16) {
    return fmt::format("{}_{}-{:04x}", escaped_component(series), file_timestamp(now),
                       random16 & 0xffffu);
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
        // Truncate, and keep names distinct by a hash (FNV-1a) of the whole name.
        std::uint64_t hash = 14695981039346656037ull;
        for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
        out = fmt::format("{}%{:016x}", out.substr(0, kLongestComponent - 17), hash);
    }
    return out;
}

std::uint32_t short_hash(std::string_view text) {
    std::uint32_t hash = 2166136261U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return hash;
}

std::string short_name(std::string_view text) {
    constexpr std::size_t kLongest = 80;
    std::string name;
    for (const char c : text) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ||
                           c == '_' || (c == '-' && !name.empty());
        if (plain)
            name += c;
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    while (!name.empty() && name.back() == '-') name.pop_back();
    if (name.size() > kLongest)
        name = fmt::format("{}-{:08x}", name.substr(0, 70), short_hash(text));
    if (name.empty()) name = fmt::format("{:08x}", short_hash(text));
    if (name.front() == '.') name.front() = '_';
    return name;
}

fs::path escaped_path(std::string_view module) {
    fs::path path;
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
    constexpr std::array<std::string_view, 10> kWords{"TOKEN",  "KEY", "SECRET",     "PASSWORD",
                                                      "PASSWD", "PWD", "CREDENTIAL", "COOKIE",
                                                      "AUTH",   "DSN"};
    if (upper == "PWD" || upper == "OLDPWD") return false;  // the working folder
    return std::any_of(kWords.begin(), kWords.end(),
                       [&](auto word) { return upper.find(word) != std::string::npos; });
}

std::string mask_url_passwords(std::string_view text) {
    constexpr std::string_view kScheme = "://";
    constexpr size_t kShortestToken = 20;
    std::string masked;
    for (size_t at = text.find(kScheme); at != text.npos; at = text.find(kScheme)) {
        const size_t user = at + kScheme.size();
        // RFC 3986: the user's part ends at the last "@" before the path, the query or a space.
        const std::string_view authority =
            text.substr(user, text.find_first_of("/?# \t\n\"'", user) - user);
        const size_t host = authority.rfind('@'), colon = authority.find(':');
        const bool password = host != text.npos && colon < host;
        masked += text.substr(0, user);
        // A long name without a password is a token: "https://0123456789abcdef0123@host".
        const bool token = host != text.npos && colon > host && host >= kShortestToken &&
                           authority.find_first_of("0123456789") < host;
        if (password) masked += fmt::format("{}:{}", authority.substr(0, colon), kMasked);
        if (token) masked += kMasked;
        text.remove_prefix(user + (password || token ? host : 0));
    }
    return masked.append(text);
}

std::string mask_secret(std::string_view name, std::string_view value) {
    return is_secret_name(name) ? std::string(kMasked) : mask_url_passwords(value);
}

size_t utf8_length(std::string_view s) { return first_character(s).bytes; }

bool is_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        const size_t length = utf8_length(bytes);
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
    return true;
}

std::string_view first_bytes(std::string_view text, std::size_t bytes) {
    while (bytes > 0 && inside_character(text, bytes)) --bytes;
    return text.substr(0, bytes);
}

std::string_view last_bytes(std::string_view text, std::size_t bytes) {
    std::size_t from = text.size() - std::min(bytes, text.size());
    while (inside_character(text, from)) ++from;
    return text.substr(from);
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

std::string shell_quoted(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_quoted(word);
    return line;
}

}  // namespace compat
