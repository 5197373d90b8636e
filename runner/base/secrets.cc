#include "runner/base/secrets.h"

#include <re2/re2.h>

#include <algorithm>

#include "runner/base/names.h"

namespace compat {

namespace {

constexpr std::size_t kShortest = 6;

// Lowercase names are ordinary code: `sorted(rows, key=len)`. A value in quotes may hold blanks.
const RE2& assignment() {
    static const RE2 pattern(R"re(\b([A-Z][A-Z0-9_]*)['"]?\s*[=:]{1,2}\s*)re"
                             R"re(('[^'\n]+'?|"[^"\n]+"?|[^\s'",;]+))re");
    return pattern;
}

std::string mask_assignments(std::string_view text) {
    std::string masked;
    re2::StringPiece rest(text.data(), text.size());
    while (true) {
        const re2::StringPiece before = rest;
        re2::StringPiece name, value;
        if (!RE2::FindAndConsume(&rest, assignment(), &name, &value)) break;
        masked.append(before.data(), value.data());
        if (is_secret_name({name.data(), name.size()})) {
            const std::string_view quote(value.data(), value[0] == '\'' || value[0] == '"');
            masked.append(quote).append(kMasked);
            if (!quote.empty() && value.size() > 1 && value[value.size() - 1] == quote[0])
                masked += quote;
        } else {
            // Its value is searched, too: "A=B_TOKEN=x".
            rest = re2::StringPiece(value.data(), rest.size() + value.size());
        }
    }
    return masked.append(rest.data(), rest.size());
}

}  // namespace

std::vector<std::string> secret_values(
    const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> values;
    for (const auto& [name, value] : variables)
        if (value.size() >= kShortest && is_secret_name(name)) values.push_back(value);
    std::sort(values.begin(), values.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return values;
}

std::string mask_secrets(std::string_view text, const std::vector<std::string>& values) {
    std::string masked(text);
    for (const std::string& value : values)
        for (std::size_t at = masked.find(value); at != std::string::npos;
             at = masked.find(value, at + kMasked.size()))
            masked.replace(at, value.size(), kMasked);
    return mask_url_passwords(mask_assignments(masked));
}

}  // namespace compat
