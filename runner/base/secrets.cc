#include "runner/base/secrets.h"

#include <re2/re2.h>

#include <algorithm>

#include "runner/base/names.h"

namespace compat {

namespace {

constexpr std::size_t kShortest = 6;

// Lowercase names are ordinary code: `sorted(rows, key=len)`.
const RE2& assignment() {
    static const RE2 pattern(R"re(\b([A-Z][A-Z0-9_]*)(['"]?\s*[=:]{1,2}\s*['"]?)([^\s'",;]+))re");
    return pattern;
}

std::string mask_assignments(std::string_view text) {
    std::string masked;
    re2::StringPiece rest(text.data(), text.size());
    while (true) {
        const re2::StringPiece before = rest;
        re2::StringPiece name, between, value;
        if (!RE2::FindAndConsume(&rest, assignment(), &name, &between, &value)) break;
        const bool secret = is_secret_name({name.data(), name.size()});
        // After another name its value is searched, too: "A=B_TOKEN=x".
        masked.append(before.data(), value.data());
        if (secret)
            masked += kMasked;
        else
            rest = re2::StringPiece(value.data(), rest.size() + value.size());
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
