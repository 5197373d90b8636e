#include "runner/base/secrets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "runner/base/names.h"

extern char** environ;

namespace compat {

namespace {

constexpr std::size_t kShortest = 6;

// Most lowercase names are ordinary code: `sorted(rows, key=len)`, `pad_token="[PAD]"`. A value in
// quotes may hold blanks.
const RE2& assignment() {
    static const RE2 pattern(
        R"re((?:\b([A-Z][A-Z0-9_]*)['"]?\s*[=:]{1,2}\s*)re"
        R"re(('[^'\n]+'?|"[^"\n]+"?|[^\s'",;]+))re"
        R"re(|(?i:passw(?:or)?d|secret|credential|api_?key)\w*['"]?\s*[=:]{1,2}\s*)re"
        R"re(('[^'\n]+'?|"[^"\n]+"?)))re");
    return pattern;
}

// Tokens that are known by their form, wherever they stand.
constexpr std::array<const char*, 7> kTokens{
    R"(hf_[A-Za-z0-9]{16,})",                            // Hugging Face
    R"(gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})",  // GitHub
    R"(glpat-[\w-]{16,})",                               // GitLab
    R"(sk-[\w-]{16,})",                                  // OpenAI and others
    R"(AKIA[A-Z0-9]{12,})",                              // AWS
    R"(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)",                // JSON Web Token
    R"([Bb]earer\s+[\w.~+/-]{16,})",                     // RFC 6750
};

const RE2& token() {
    static const RE2 pattern(fmt::format(R"(\b(?:{}))", fmt::join(kTokens, "|")));
    return pattern;
}

std::string mask_assignments(std::string_view text) {
    std::string masked;
    re2::StringPiece rest(text.data(), text.size());
    while (true) {
        const re2::StringPiece before = rest;
        re2::StringPiece name, value, of_password;
        if (!RE2::FindAndConsume(&rest, assignment(), &name, &value, &of_password)) break;
        const bool secret = name.empty() || is_secret_name({name.data(), name.size()});
        if (name.empty()) value = of_password;
        masked.append(before.data(), value.data());
        if (secret) {
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

std::vector<std::string> own_secret_values() {
    std::vector<std::pair<std::string, std::string>> variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = std::min(text.find('='), text.size());
        variables.emplace_back(text.substr(0, equals),
                               text.substr(std::min(equals + 1, text.size())));
    }
    return secret_values(variables);
}

std::string mask_secrets(std::string_view text, const std::vector<std::string>& values) {
    if (text.empty()) return {};
    std::string masked(text);
    for (const std::string& value : values)
        for (std::size_t at = masked.find(value); at != std::string::npos;
             at = masked.find(value, at + kMasked.size()))
            masked.replace(at, value.size(), kMasked);
    masked = mask_url_passwords(mask_assignments(masked));
    RE2::GlobalReplace(&masked, token(), re2::StringPiece(kMasked.data(), kMasked.size()));
    return masked;
}

}  // namespace compat
