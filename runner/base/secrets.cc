#include "runner/base/secrets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "runner/base/names.h"

extern char** environ;

namespace compat {

namespace {

constexpr std::size_t kShortest = 6, kShortestLine = 16;

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

// Where a value stands, with the value as its group.
struct Place {
    const char* pattern;
    bool after_blank = false;  // of an option: in prose another word may stand there
};

constexpr const char* kOption =
    R"re((?i)(?:^|[\s'"\[(])--?(?:token|(?:[a-z0-9]+[-_])*(?:passw(?:or)?d|passphrase|secret)re"
    R"re(|credentials?|(?:api|access|private)[-_]?key)re"
    R"re(|(?:access|auth|api|hub|hf|bearer|github|gitlab|oauth)[-_]token)))re";
constexpr const char* kValue = R"re(('[^'\n]+'?|"[^"\n]+"?|[^\s'",;\])]+))re";

// Options of a command line, or of a list of its words, and headers of HTTP (RFC 9110, RFC 6265).
constexpr std::array<Place, 6> kPlaces{{
    {R"re((?:=|['"],?[ \t]*))re"},
    {R"re([ \t]+)re", true},
    {R"re((?i)\bauthorization['"]?\s*[:=,]\s*b?['"]?)re"
     R"re((?:basic|bearer|digest|negotiate|token|apikey)\s+([^\s'",;]+))re"},
    {R"re((?i)\bauthorization['"]?\s*[:=,]\s*b?['"]?([\w.+=~-]{16,}))re"},
    {R"re((?i)\bx-(?:[a-z0-9]+-)*(?:key|token|secret)['"]?\s*[:=,]\s*b?['"]?([^\s'",;]{6,}))re"},
    {R"re(\b(?:Set-)?Cookie['"]?\s*[:,]\s*b?['"]?([^\s='";]+=[^\n'"]+))re"},
}};

// The first two are of options.
std::string pattern_of(std::size_t place) {
    const std::string text = kPlaces[place].pattern;
    return place < 2 ? kOption + text + kValue : text;
}

const std::vector<std::unique_ptr<RE2>>& places() {
    static const auto patterns = [] {
        std::vector<std::unique_ptr<RE2>> all;
        for (std::size_t i = 0; i < kPlaces.size(); ++i)
            all.push_back(std::make_unique<RE2>(pattern_of(i)));
        return all;
    }();
    return patterns;
}

// Tokens that are known by their form, wherever they stand.
constexpr std::array<const char*, 15> kTokens{
    R"((?:hf|api_org)_[A-Za-z0-9]{16,})",                // Hugging Face
    R"(gh[pousr]_[A-Za-z0-9]{16,}|github_pat_\w{16,})",  // GitHub
    R"(gl(?:pat|dt|rt|cbt)-[\w-]{16,})",                 // GitLab
    R"(sk-[\w-]*\d[\w-]{8,})",                           // OpenAI and others
    R"((?:AKIA|ASIA)[A-Z0-9]{12,})",                     // AWS
    R"(eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)",                // JSON Web Token
    R"([Bb]earer\s+[\w.~+/-]{16,})",                     // RFC 6750
    R"(xox[abeprs]-[\w-]{10,})",                         // Slack
    R"(AIza[\w-]{35})",                                  // Google
    R"(npm_[A-Za-z0-9]{36})",                            // npm
    R"(pypi-[\w-]{32,})",                                // PyPI
    R"((?:sk|rk)_(?:live|test)_[A-Za-z0-9]{16,})",       // Stripe
    R"(dckr_pat_[\w-]{16,})",                            // Docker
    R"(hvs\.[\w-]{16,})",                                // Vault
    R"(SG\.[\w-]{16,}\.[\w-]{16,})",                     // SendGrid
};

const RE2& token() {
    static const RE2 pattern(fmt::format(R"(\b(?:{}))", fmt::join(kTokens, "|")));
    return pattern;
}

// Keys of RFC 7468 and PGP: lines of base64 and headers, or one line with "\n" for their ends.
// Before each line may stand a prefix of pytest or a diff. Text that only names such a key stays.
// The second pattern is for a key whose beginning was cut off.
#define LINE_START R"re([ \t]*(?:[E>|+-][ \t]*)*)re"
constexpr std::array<const char*, 2> kPrivateKeys{
    R"re((?m)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----)re"
    R"re(((?:\r?\n)re" LINE_START R"re((?:[A-Za-z0-9-]+:[^\n]*|[A-Za-z0-9+/=]*)[ \t]*$)+)re"
    R"re(|(?:\\[nr]|[A-Za-z0-9+/=])+))re",
    R"re((?m)((?:^)re" LINE_START R"re([A-Za-z0-9+/=]+[ \t]*\r?\n)+))re" LINE_START
    R"re(-----END [A-Z0-9 ]*PRIVATE KEY)re"};
#undef LINE_START

const std::array<RE2, 2>& private_keys() {
    static const std::array<RE2, 2> patterns{RE2(kPrivateKeys[0]), RE2(kPrivateKeys[1])};
    return patterns;
}

// Most lines have nothing of all this: one look finds that out.
const RE2& anything() {
    static const RE2 pattern([] {
        std::string text = fmt::format(R"re((?:{})|://|PRIVATE KEY|\b(?:{}))re",
                                       assignment().pattern(), fmt::join(kTokens, "|"));
        for (std::size_t i = 0; i < kPlaces.size(); ++i)
            text += fmt::format("|(?:{})", pattern_of(i));
        return text;
    }());
    return pattern;
}

void append(std::string& text, const re2::StringPiece& piece) {
    text.append(piece.data(), piece.size());
}

// In quotes where the value is.
void append_mask(std::string& masked, const re2::StringPiece& value) {
    const std::string_view quote(value.data(), value[0] == '\'' || value[0] == '"');
    masked.append(quote).append(kMasked);
    if (!quote.empty() && value.size() > 1 && value[value.size() - 1] == quote[0]) masked += quote;
}

std::string_view without_quotes(const re2::StringPiece& value) {
    std::string_view text(value.data(), value.size());
    if (!text.empty() && (text.front() == '\'' || text.front() == '"')) text.remove_prefix(1);
    if (!text.empty() && (text.back() == '\'' || text.back() == '"')) text.remove_suffix(1);
    return text;
}

// A word of the name ends with that of a secret: "API_KEY", "HFTOKENS", not "KEYWORD".
bool names_secret(const re2::StringPiece& name) {
    static const RE2 pattern(
        "(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PWD|CREDENTIAL|COOKIE|AUTH|DSN)S?(?:_|\\d|$)");
    return RE2::PartialMatch(name, pattern) && is_secret_name({name.data(), name.size()});
}

// No secret, but what stands for one, or code: `<pad>`, `[PAD]`, `$TOKEN`, `None`, `PASSWORD`,
// `KEY=VALUE`, `A_CONSTANT`, `ask()`, the number of an id.
bool is_placeholder(const re2::StringPiece& name, const re2::StringPiece& value) {
    static const RE2 placeholder(
        R"re([\[<{($%*].*|\.{3}.*|-.*|None|[Tt]rue|[Ff]alse|null|VAL(?:UE)?|[A-Z]+(?:_[A-Z]+)+)re"
        R"re(|[A-Z_]*(?:PASSWO?R?D|SECRET|TOKEN|KEY|CREDENTIAL)[A-Z_]*)re");
    static const RE2 code(R"re([\w.]+[(\[].*)re"), number(R"re(\d+)re"), words("PASS|SECRET|PWD");
    const std::string_view plain = without_quotes(value);
    const re2::StringPiece text(plain.data(), plain.size());
    const bool quoted = plain.size() < value.size();
    return plain.empty() || RE2::FullMatch(text, placeholder) ||
           (!quoted && RE2::FullMatch(text, code)) ||
           (!name.empty() && !RE2::PartialMatch(name, words) && RE2::FullMatch(text, number));
}

std::string mask_assignments(std::string_view text) {
    std::string masked;
    re2::StringPiece rest(text.data(), text.size());
    while (true) {
        const re2::StringPiece before = rest;
        re2::StringPiece name, value, of_password;
        if (!RE2::FindAndConsume(&rest, assignment(), &name, &value, &of_password)) break;
        const bool secret = name.empty() || names_secret(name);
        if (name.empty()) value = of_password;
        masked.append(before.data(), value.data());
        if (secret && !is_placeholder(name, value))
            append_mask(masked, value);
        else  // its value is searched, too: "A=B_TOKEN=x"
            rest = re2::StringPiece(value.data(), rest.size() + value.size());
    }
    append(masked, rest);
    return masked;
}

// "use --password instead"
bool is_prose(const re2::StringPiece& value) {
    static const RE2 word("[a-z]+[.:!?]?");
    return RE2::FullMatch(value, word);
}

std::string mask_place(std::string text, std::size_t place) {
    std::string masked;
    re2::StringPiece rest(text), value;
    for (re2::StringPiece before = rest; RE2::FindAndConsume(&rest, *places()[place], &value);
         before = rest) {
        masked.append(before.data(), value.data());
        if (is_placeholder({}, value) || (kPlaces[place].after_blank && is_prose(value)))
            append(masked, value);
        else
            append_mask(masked, value);
    }
    append(masked, rest);
    return masked;
}

// As many lines as before: a report counts those of a source.
std::string mask_keys(const std::string& text, const RE2& pattern) {
    std::string masked;
    re2::StringPiece rest(text), key;
    for (re2::StringPiece before = rest; RE2::FindAndConsume(&rest, pattern, &key);
         before = rest) {
        masked.append(before.data(), key.data());
        const auto lines = std::count(key.begin(), key.end(), '\n');
        const bool ends_a_line = key[0] == '\n' || key[0] == '\r';
        masked.append(ends_a_line ? "\n" : "").append(kMasked);
        masked.append(static_cast<std::size_t>(lines - (ends_a_line ? 1 : 0)), '\n');
        masked.append(key.data() + key.size(), rest.data());
    }
    append(masked, rest);
    return masked;
}

// Those that remember_secrets() was given.
struct Remembered {
    std::mutex mutex;
    std::vector<std::pair<std::string, std::string>> variables;
    std::shared_ptr<const std::vector<std::string>> values;  // with the environment's
};
Remembered& remembered() {
    static Remembered all;
    return all;
}

}  // namespace

namespace {

// Not "MAX_TOKENS=100000", "AUTH_MODE=password", "XAUTHORITY=/home/me/.Xauthority": such values are
// words of other text.
bool holds_secret(const std::string& name, const std::string& value) {
    static const RE2 last("(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PWD|CREDENTIAL)S?$"), word("[a-z]+");
    return names_secret(name) && !is_placeholder(name, value) && !value.starts_with('/') &&
           (RE2::PartialMatch(name, last) || !RE2::FullMatch(value, word));
}

}  // namespace

std::vector<std::string> secret_values(
    const std::vector<std::pair<std::string, std::string>>& variables) {
    std::vector<std::string> values;
    for (const auto& [name, value] : variables) {
        if (value.size() < kShortest || !holds_secret(name, value)) continue;
        values.push_back(value);
        // Its lines, which may be printed one by one.
        for (std::size_t begin = 0, end = 0; value.find('\n') != value.npos && end < value.size();
             begin = end + 1) {
            end = std::min(value.find('\n', begin), value.size());
            if (end - begin >= kShortestLine && value[begin] != '-')
                values.push_back(value.substr(begin, end - begin));
        }
    }
    std::sort(values.begin(), values.end(),
              [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return values;
}

namespace {

// And of the environment.
std::vector<std::string> values_with(
    const std::vector<std::pair<std::string, std::string>>& given) {
    std::vector<std::pair<std::string, std::string>> variables;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text(*entry);
        const std::size_t equals = std::min(text.find('='), text.size());
        variables.emplace_back(text.substr(0, equals),
                               text.substr(std::min(equals + 1, text.size())));
    }
    variables.insert(variables.end(), given.begin(), given.end());
    return secret_values(variables);
}

}  // namespace

std::vector<std::string> own_secret_values() {
    const std::scoped_lock lock(remembered().mutex);
    return values_with(remembered().variables);
}

void remember_secrets(const std::vector<std::pair<std::string, std::string>>& variables) {
    const std::scoped_lock lock(remembered().mutex);
    for (const auto& [name, value] : variables)
        if (is_secret_name(name)) remembered().variables.emplace_back(name, value);
    remembered().values.reset();
}

std::string mask_private_keys(std::string text) {
    if (text.find("PRIVATE KEY") == text.npos) return text;
    for (const RE2& pattern : private_keys()) text = mask_keys(text, pattern);
    return text;
}

std::string mask_own_secrets(std::string_view text) {
    std::shared_ptr<const std::vector<std::string>> values;
    {
        const std::scoped_lock lock(remembered().mutex);
        auto& kept = remembered().values;
        if (!kept)
            kept = std::make_shared<const std::vector<std::string>>(
                values_with(remembered().variables));
        values = kept;
    }
    return mask_secrets(text, *values);
}

std::string mask_secrets(std::string_view text, const std::vector<std::string>& values) {
    if (text.empty()) return {};
    std::string masked(text);
    for (const std::string& value : values)
        for (std::size_t at = masked.find(value); at != std::string::npos;
             at = masked.find(value, at + kMasked.size()))
            masked.replace(at, value.size(), kMasked);
    if (!RE2::PartialMatch(masked, anything())) return masked;
    masked = mask_private_keys(std::move(masked));
    for (std::size_t place = 0; place < kPlaces.size(); ++place)
        masked = mask_place(std::move(masked), place);
    masked = mask_url_passwords(mask_assignments(masked));
    RE2::GlobalReplace(&masked, token(), re2::StringPiece(kMasked.data(), kMasked.size()));
    return masked;
}

}  // namespace compat
