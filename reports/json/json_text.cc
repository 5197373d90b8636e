#include "reports/json/json_text.h"

namespace compat::reports {

using Json = nlohmann::ordered_json;

std::string compact(const Json& value) {
    return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string indented(const Json& value, int depth) {
    const std::string text = value.dump(1, ' ', false, Json::error_handler_t::replace);
    std::string out;
    out.reserve(text.size() + text.size() / 4);
    for (size_t begin = 0; begin < text.size();) {
        // Strings have none: it is escaped.
        const size_t end = text.find('\n', begin);
        if (end == std::string::npos) return out.append(text, begin);
        out.append(text, begin, end + 1 - begin).append(static_cast<size_t>(depth), ' ');
        begin = end + 1;
    }
    return out;
}

void append_string(std::string& to, std::string_view text) {
    const size_t before = to.size();
    to += '"';
    size_t plain = 0;
    for (size_t at = 0; at < text.size(); ++at) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') continue;
        if (byte != '"' && byte != '\\' && byte != '\n') {
            // nlohmann escapes the rare characters: other control characters, and all that is not
            // ASCII.
            to.resize(before);
            to += compact(text);
            return;
        }
        to.append(text, plain, at - plain).append(1, '\\').append(1, byte == '\n' ? 'n' : text[at]);
        plain = at + 1;
    }
    to.append(text, plain).append(1, '"');
}

}  // namespace compat::reports
