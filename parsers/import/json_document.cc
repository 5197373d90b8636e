#include "parsers/import/json_document.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <string>

#include "runner/base/line_reader.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

// Numbers that Python writes and JSON has not.
constexpr std::array<std::string_view, 3> kNoNumbers{"NaN", "Infinity", "-Infinity"};

// The text with what the reader would stop at mended, at the same length where it can be.
std::string mended(std::string_view bytes) {
    static const RE2 kPair(R"(\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2})");
    static const RE2 kHalf(R"(\\u[dD][89a-fA-F][[:xdigit:]]{2})");
    const std::string text = valid_utf8(bytes);
    std::string out;
    bool quoted = false;
    char before = 0;  // the last character outside of strings that is no blank
    for (size_t i = 0; i < text.size(); ++i) {
        const auto is = [&](size_t length, const RE2& escape) {
            return RE2::FullMatch(text.substr(i, length), escape);
        };
        const char c = text[i];
        if (quoted && c == '\\') {
            const size_t length = is(12, kPair) ? 12 : is(6, kHalf) ? 6 : 2;
            out += length == 6 ? "\\ufffd" : text.substr(i, length);
            i += length - 1;
            continue;
        }
        if (!quoted && c == '{' && before == '}') out += ',';
        const auto* const none = std::find_if(
            kNoNumbers.begin(), kNoNumbers.end(),
            [&](std::string_view word) { return text.compare(i, word.size(), word) == 0; });
        if (!quoted && none != kNoNumbers.end()) {
            out += "null";
            i += none->size() - 1;
            continue;
        }
        if (c == '"') quoted = !quoted;
        if (!quoted && !trimmed({&c, 1}).empty()) before = c;
        out += c;
    }
    return out;
}

}  // namespace

json read_json(std::string_view bytes, Diagnoser& diagnose, size_t offset, std::string_view what) {
    if (json_nests_deeper(bytes)) {
        diagnose.add(offset, fmt::format("{} nests too deep to be read", what));
        return nullptr;
    }
    json document = json::parse(bytes, nullptr, /*allow_exceptions=*/false);
    if (!document.is_discarded()) return document;
    try {
        return json::parse(mended(bytes));
    } catch (const json::parse_error& error) {
        diagnose.add(offset + std::min(error.byte, bytes.size()),
                     fmt::format("{} cannot be read from here on; nothing of it is", what));
    } catch (const json::exception& error) {
        diagnose.add(offset, valid_utf8(error.what()));
    }
    return nullptr;
}

bool begins_as_json(std::string_view beginning) {
    const std::string_view text = trimmed(beginning.substr(0, 1000));
    return text.starts_with('{') || text.starts_with('[');
}

}  // namespace compat::parsers
