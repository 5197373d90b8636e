#include "suites/settings.h"

#include "runner/base/text.h"

namespace compat::suites {

namespace {

void add_words(std::string_view text, std::vector<std::string>& words) {
    constexpr std::string_view kBetween = " \t\r,[]\"'";
    while (true) {
        const std::size_t begin = text.find_first_not_of(kBetween);
        if (begin == std::string_view::npos || text[begin] == '#') return;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
        words.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

}  // namespace

std::optional<std::map<std::string, std::vector<std::string>>> read_section(
    std::string_view text, std::string_view section) {
    std::optional<std::map<std::string, std::vector<std::string>>> found;
    bool inside = false;
    std::vector<std::string>* value = nullptr;  // of the key that the next lines continue
    bool list = false;                          // the value is an open TOML list
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::string_view content = trimmed(line);
        if (content.empty() || content.front() == '#' || content.front() == ';') continue;
        const bool indented = line.front() == ' ' || line.front() == '\t';
        if (value && (list || indented)) {
            add_words(content, *value);
            if (content.find(']') != std::string_view::npos) list = false;
        } else if (content.front() == '[') {
            inside = trimmed(content.substr(1, content.find(']') - 1)) == section;
            if (inside && !found) found.emplace();
            value = nullptr;
        } else if (const std::size_t equals = content.find_first_of("=:");
                   inside && equals != std::string_view::npos) {
            const std::string_view given = trimmed(content.substr(equals + 1));
            value = &(*found)[std::string(trimmed(content.substr(0, equals)))];
            add_words(given, *value);
            list = given.starts_with('[') && given.find(']') == std::string_view::npos;
        }
    }
    return found;
}

}  // namespace compat::suites
