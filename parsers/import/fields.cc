#include "parsers/import/fields.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>

#include "parsers/text.h"
#include "runner/base/text.h"

namespace compat::parsers {

std::string stem_of(std::string_view file_name) {
    const size_t base = file_name.find_last_of("/\\") + 1;
    const size_t dot = file_name.rfind('.');
    const bool has_extension = dot != std::string_view::npos && dot > base;
    return valid_utf8(has_extension ? file_name.substr(0, dot) : file_name);
}

std::string tidy_id(std::string_view id) {
    static const RE2 kNamed("(at[ _])0x[0-9a-fA-F]+");
    static const RE2 kBare(R"(\b0x[0-9a-fA-F]{9,16}\b)");
    std::string out = printable(id);
    if (out.find("0x") != std::string::npos) {
        RE2::GlobalReplace(&out, kNamed, "\\10x…");
        RE2::GlobalReplace(&out, kBare, "0x…");
    }
    return out;
}

double file_seconds(std::string_view text) {
    std::string digits(text.substr(0, 40));
    std::erase(digits, ',');
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    constexpr double kMost = 1e9;
    return value > 0 && value < kMost ? value : 0;
}

int count_words(std::span<const std::string_view> words, std::string_view beginning,
                std::string_view end) {
    return static_cast<int>(std::count_if(words.begin(), words.end(), [&](std::string_view word) {
        return beginning.find(word) != std::string_view::npos ||
               end.find(word) != std::string_view::npos;
    }));
}

}  // namespace compat::parsers
