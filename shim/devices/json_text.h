// The few forms of JSON that this folder writes: it links nothing but LibTorch.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace compat::devices {

[[nodiscard]] inline std::string json_string(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') out += '\\';
        if (byte >= 0x20) {
            out += c;
            continue;
        }
        char escape[8];
        std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(byte));
        out += escape;
    }
    return out + '"';
}

[[nodiscard]] inline std::string or_null(const std::string& text) {
    return text.empty() ? "null" : json_string(text);
}

[[nodiscard]] inline std::string or_null(std::optional<std::int64_t> number) {
    return number ? std::to_string(*number) : "null";
}

[[nodiscard]] inline std::string joined(const std::vector<std::string>& parts) {
    std::string out;
    for (const auto& part : parts) out += (out.empty() ? "" : ", ") + part;
    return out;
}

}  // namespace compat::devices
