#include "suites/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "suites/positions.h"
#include "suites/schema.h"

namespace compat::suites {

namespace {

using nlohmann::ordered_json;

constexpr std::string_view kList = "/expectations";

// A bare list in the form of a file.
ordered_json in_usual_form(ordered_json document) {
    if (!document.is_array()) return document;
    return {{"format", kExpectationsFormat}, {"expectations", std::move(document)}};
}

// The pointer in the text of a pointer in the usual form.
std::string in_text(const std::string& pointer, bool bare) {
    return bare && pointer.starts_with(kList) ? pointer.substr(kList.size()) : pointer;
}

std::vector<std::string> one_or_more(const ordered_json& value) {
    if (value.is_boolean()) return {value.get<bool>() ? "on" : "off"};
    if (value.is_string()) return {value.get<std::string>()};
    return value.get<std::vector<std::string>>();
}

Expectation entry_of(const ordered_json& at) {
    Expectation entry;
    entry.test = at["test"].get<std::string>();
    entry.expect = one_or_more(at["expect"]);
    if (at.contains("when"))
        for (const auto& [name, value] : at["when"].items()) entry.when[name] = one_or_more(value);
    entry.reason = at.value("reason", "");
    entry.issue = at.value("issue", "");
    entry.until = at.value("until", "");
    return entry;
}

bool is_day(std::string_view text) {
    int year = 0;
    unsigned month = 0, day = 0;
    std::from_chars(text.data(), text.data() + 4, year);
    std::from_chars(text.data() + 5, text.data() + 7, month);
    std::from_chars(text.data() + 8, text.data() + 10, day);
    return std::chrono::year_month_day(std::chrono::year(year), std::chrono::month(month),
                                       std::chrono::day(day))
        .ok();
}

// An entry's text, and the text around it up to its neighbours. A comma follows `after_entry`, then
// `rest_of_line` with a comment.
struct EntryText {
    std::string before, entry, after_entry, rest_of_line;
};

// The text of a list: joined, its parts are the text again.
struct ListText {
    std::string head;  // up to and with "["
    std::vector<EntryText> entries;
    std::string tail;  // from the text before "]"
};

// The first byte from `at` on that is neither space nor comment.
std::size_t skip_blank(std::string_view text, std::size_t at) {
    while (at < text.size()) {
        const std::string_view rest = text.substr(at);
        if (std::string_view(" \t\r\n").find(rest.front()) != std::string_view::npos)
            ++at;
        else if (rest.starts_with("//"))
            at += std::min(rest.size(), rest.find('\n'));
        else if (rest.starts_with("/*"))
            at += std::min(rest.size(), rest.find("*/") + 2);
        else
            break;
    }
    return at;
}

// The end of a comment that begins on the line of `at`, before other text; `at` where there is
// none.
std::size_t end_of_comment(std::string_view text, std::size_t at, std::size_t limit) {
    const std::size_t line = std::min({text.find('\n', at), text.size(), limit});
    const std::string_view rest = text.substr(at, line - at);
    const std::size_t first = rest.find_first_not_of(" \t\r");
    return first != std::string_view::npos && rest.substr(first).starts_with("//") ? line : at;
}

ListText split_list(std::string_view text, const Positions& positions, const std::string& list) {
    const Positions::Bytes whole = positions.bytes.at(list);
    ListText parts;
    std::size_t at = whole.begin + 1;
    parts.head = text.substr(0, at);
    for (std::size_t i = 0;; ++i) {
        const auto entry = positions.bytes.find(fmt::format("{}/{}", list, i));
        if (entry == positions.bytes.end()) break;
        const auto [begin, end] = entry->second;
        EntryText& part = parts.entries.emplace_back();
        part.before = text.substr(at, begin - at);
        part.entry = text.substr(begin, end - begin);
        const std::size_t comma = skip_blank(text, end);
        at = end;
        if (text[comma] == ',') {
            part.after_entry = text.substr(end, comma - end);
            at = comma + 1;
        }
        const std::size_t comment = end_of_comment(text, at, whole.end - 1);
        part.rest_of_line = text.substr(at, comment - at);
        at = comment;
    }
    parts.tail = text.substr(at);
    return parts;
}

std::string joined(const ListText& parts) {
    std::string text = parts.head;
    for (std::size_t i = 0; i < parts.entries.size(); ++i) {
        const EntryText& part = parts.entries[i];
        text += part.before + part.entry + part.after_entry;
        if (i + 1 < parts.entries.size()) text += ',';
        text += part.rest_of_line;
    }
    return text + parts.tail;
}

// As text: "failed", or a list.
std::string states_text(const std::vector<std::string>& states) {
    if (states.size() == 1) return ordered_json(states.front()).dump();
    std::string list;
    for (const std::string& state : states)
        list += (list.empty() ? "" : ", ") + ordered_json(state).dump();
    return "[" + list + "]";
}

// The white space in front of a new entry: as before another.
std::string lead_of(const ListText& parts) {
    if (parts.entries.empty())
        return parts.head.find('\n') == std::string::npos ? "\n  " : "\n    ";
    const EntryText& model = parts.entries.back();
    const std::size_t line = model.before.rfind('\n');
    return line == std::string::npos ? " " : model.before.substr(line);
}

void insert_entry(ListText& parts, std::size_t place, std::string entry) {
    EntryText added{lead_of(parts), std::move(entry), {}, {}};
    if (parts.entries.empty()) {
        if (parts.tail.starts_with(']'))
            parts.tail = (parts.head.find('\n') == std::string::npos ? "\n" : "\n  ") + parts.tail;
    } else if (place == 0 && parts.entries.front().before.find('\n') == std::string::npos) {
        std::swap(added.before, parts.entries.front().before);
    }
    parts.entries.insert(parts.entries.begin() + static_cast<std::ptrdiff_t>(place),
                         std::move(added));
}

std::string condition_text(const std::string& name, const std::vector<std::string>& values) {
    const std::string key = ordered_json(name).dump();
    const bool flag = name == "shim" || name == "fallback";
    if (flag) return fmt::format("{}: {}", key, values.front() == "on");
    return fmt::format("{}: {}", key, states_text(values));
}

}  // namespace

Expected<std::vector<Expectation>> parse_expectations(std::string_view text, const fs::path& file) {
    const Positions positions = find_positions(text);
    if (positions.problem)
        return refuse(file, positions.problem->at, positions.problem->message,
                      "an empty list is []");
    ordered_json document = ordered_json::parse(text, nullptr, true, true);
    const bool bare = document.is_array();
    document = in_usual_form(std::move(document));
    if (document.is_object() && document.contains("format") &&
        document["format"].is_number_integer() && document["format"] > kExpectationsFormat)
        return refuse(file, positions.of("/format"),
                      fmt::format("format {} is newer than this runner supports (format {})",
                                  document["format"].dump(), kExpectationsFormat),
                      "update the runner");
    if (const auto violation = find_violation(nlohmann::json(document), SchemaOf::expectations)) {
        const std::string pointer = in_text(violation->pointer, bare);
        return refuse(file, violation->key ? positions.of_key(pointer) : positions.of(pointer),
                      violation->message);
    }
    std::vector<Expectation> entries;
    std::set<std::pair<std::string, decltype(Expectation::when)>> seen;
    for (const ordered_json& at : document["expectations"]) {
        const std::string pointer = in_text(fmt::format("{}/{}", kList, entries.size()), bare);
        entries.push_back(entry_of(at));
        const Expectation& entry = entries.back();
        if (!entry.until.empty() && !is_day(entry.until))
            return refuse(file, positions.of(pointer + "/until"),
                          fmt::format("\"{}\" is not a valid date", entry.until),
                          "write the last day as 2027-01-31");
        if (!seen.emplace(entry.test, entry.when).second)
            return refuse(file, positions.of(pointer), "duplicate entry: same test and conditions",
                          "remove one of them");
    }
    return entries;
}

bool has_expectations(std::string_view text) {
    const auto document = ordered_json::parse(text, nullptr, false, true);
    if (document.is_array())
        return document.empty() ||
               std::any_of(document.begin(), document.end(), [](const ordered_json& entry) {
                   return entry.is_object() && entry.contains("test");
               });
    return document.is_object() && document.contains("format") && document.contains("expectations");
}

Error advise_to_name_another(Error error) {
    if (error.advice.empty())
        error.advice = "if this file is not the runner's, pass --expectations FILE";
    return error;
}

std::string text_of(const Expectation& entry) {
    std::string text = fmt::format("{{\"test\": {}, \"expect\": {}",
                                   ordered_json(entry.test).dump(), states_text(entry.expect));
    std::string conditions;
    for (const auto& [name, values] : entry.when)
        conditions += (conditions.empty() ? "" : ", ") + condition_text(name, values);
    if (!conditions.empty()) text += fmt::format(", \"when\": {{{}}}", conditions);
    for (const auto& [key, value] :
         {std::pair("reason", &entry.reason), std::pair("issue", &entry.issue),
          std::pair("until", &entry.until)})
        if (!value->empty()) text += fmt::format(", \"{}\": {}", key, ordered_json(*value).dump());
    return text + "}";
}

std::string edited_expectations(std::string_view text, const ExpectationEdits& edits) {
    const std::string fresh =
        fmt::format("{{\n  \"format\": {},\n  \"expectations\": []\n}}\n", kExpectationsFormat);
    if (text.empty()) text = fresh;
    const Positions positions = find_positions(text);
    const std::string list(positions.bytes.contains(std::string(kList)) ? kList : "");
    const auto entries = parse_expectations(text, {});
    if (!entries) return std::string(text);
    std::vector<std::string> tests;  // of the entries that are left
    ListText parts = split_list(text, positions, list);
    for (const auto& [entry, states] : edits.states) {
        const std::string pointer = fmt::format("{}/{}", list, entry);
        const std::size_t begin = positions.bytes.at(pointer).begin;
        const auto value = positions.bytes.at(pointer + "/expect");
        parts.entries[entry].entry.replace(value.begin - begin, value.end - value.begin,
                                           states_text(states));
    }
    std::vector<EntryText> left;
    for (std::size_t i = 0; i < parts.entries.size(); ++i) {
        if (std::find(edits.removed.begin(), edits.removed.end(), i) != edits.removed.end())
            continue;
        left.push_back(std::move(parts.entries[i]));
        tests.push_back((*entries)[i].test);
    }
    const bool sorted = std::is_sorted(tests.begin(), tests.end());
    parts.entries = std::move(left);
    // The lines of a list that is empty now go with its entries.
    const std::size_t first = parts.tail.find_first_not_of(" \t\r\n");
    if (parts.entries.empty() && edits.added.empty() && parts.tail[first] == ']')
        parts.tail.erase(0, first);
    for (const Expectation& entry : edits.added) {
        const auto at =
            sorted ? std::upper_bound(tests.begin(), tests.end(), entry.test) : tests.end();
        insert_entry(parts, static_cast<std::size_t>(at - tests.begin()), text_of(entry));
        tests.insert(at, entry.test);
    }
    return joined(parts);
}

}  // namespace compat::suites
