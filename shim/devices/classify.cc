#include "devices/classify.h"

#include <algorithm>
#include <regex>
#include <vector>

#include "devices/error_rules.h"

namespace compat::devices {
namespace {

// As in parsers/diagnosis/diagnose.cc.
constexpr std::size_t kHeadBytes = 2 * 1024;
constexpr std::size_t kTailBytes = 1024;
constexpr std::size_t kShortLineBytes = 200;

std::string words_of(std::string_view type, std::string_view message) {
    std::string words(type);
    if (message.empty()) return words;
    if (!type.empty()) words += ": ";
    if (message.size() <= kHeadBytes + kTailBytes) return words.append(message);
    words.append(message.substr(0, kHeadBytes)) += '\n';
    return words.append(message.substr(message.size() - kTailBytes));
}

// Compiled when the first error is classified: most programs never have one.
const std::vector<std::regex>& patterns() {
    static const auto all = [] {
        std::vector<std::regex> compiled;
        for (const ErrorRule& rule : error_rules())
            compiled.emplace_back(rule.pattern, std::regex::ECMAScript | std::regex::nosubs);
        return compiled;
    }();
    return all;
}

// A standard library may give up on a text that takes too many steps. The caller's error matters
// more than its class.
bool matches(const std::string& words, const std::regex& pattern) {
    try {
        return std::regex_search(words, pattern);
    } catch (const std::regex_error&) {
        return false;
    }
}

}  // namespace

std::optional<Classification> classify(std::string_view type, std::string_view message) {
    const std::string words = words_of(type, message);
    const bool is_short = std::min(words.find('\n'), words.size()) <= kShortLineBytes;
    const auto rules = error_rules();
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (rules[i].short_line && !is_short) continue;
        if (!matches(words, patterns()[i])) continue;
        if (!rules[i].error_class) return std::nullopt;
        return Classification{*rules[i].error_class, std::string(rules[i].id)};
    }
    return std::nullopt;
}

}  // namespace compat::devices
