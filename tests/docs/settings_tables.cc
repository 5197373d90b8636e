// The settings: the schema of the configuration files, and the tables of the pages.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "runner/config/settings_table.h"
#include "suites/schema.h"
#include "tests/docs/tables.h"

namespace compat::docs {

namespace {

using config::kSettings;
using config::SettingRow;
using config::Type;
using config::words_of;
using nlohmann::ordered_json;

ordered_json schema_of(const SettingRow& row) {
    ordered_json schema;
    switch (row.type) {
        case Type::words:
            schema["enum"] = words_of(row.allowed);
            break;
        case Type::on_off:
            schema["type"] = "boolean";
            break;
        case Type::number:
            schema = {{"type", "integer"}, {"minimum", row.least}, {"maximum", row.most}};
            break;
        case Type::duration:
            schema = {{"type", "string"},
                      {"pattern",
                       "^(?=.*[1-9])([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?"
                       "([0-9]{1,9}ms)?$"}};
            break;
        case Type::size:
            schema = {{"type", "string"},
                      {"pattern", "^0*[1-9][0-9]{0,11}([KkMmGgTt]([iI]?[bB])?)?$"}};
            break;
        case Type::device: {
            std::string words;
            for (const auto& word : words_of(row.allowed))
                if (word != "auto") words += (words.empty() ? "" : "|") + word;
            schema = {{"type", "string"}, {"pattern", "^(auto|(" + words + ")(:[0-9]{1,3})?)$"}};
            break;
        }
        case Type::fraction:
            schema = {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 1}};
            break;
        case Type::amount:
            schema = {{"type", "number"}, {"minimum", row.least}};
            break;
        case Type::path:
        case Type::program:
        case Type::text:
            schema = {{"type", "string"}, {"minLength", 1}};
            break;
    }
    if (row.type == Type::on_off && !row.fixed.empty())
        schema["default"] = row.fixed == "on";
    else if (row.type == Type::number && !row.fixed.empty())
        schema["default"] = std::stoi(std::string(row.fixed));
    else if (row.type == Type::fraction || row.type == Type::amount)
        schema["default"] = std::stod(std::string(row.fixed));
    else if (!row.fixed.empty())
        schema["default"] = row.fixed;
    std::string sentence = fmt::format("{}.", row.help);
    sentence.front() = static_cast<char>(std::toupper(sentence.front()));
    if (row.type == Type::path) sentence += " A relative path is relative to this file.";
    schema["description"] = std::move(sentence);
    return schema;
}

std::string values_of(const SettingRow& row) {
    switch (row.type) {
        case Type::words:
        case Type::on_off:
            return fmt::format("{}", fmt::join(words_of(row.allowed), ", "));
        case Type::number:
            return fmt::format("{} to {}", row.least, row.most);
        case Type::duration:
            return "duration";
        case Type::size:
            return "size";
        case Type::device:
            return fmt::format("{}; an index, as cuda:1", fmt::join(words_of(row.allowed), ", "));
        case Type::fraction:
            return "a number above 0, at most 1";
        case Type::amount:
            return std::string(row.allowed);
        case Type::path:
            return row.allowed.empty()
                       ? "path"
                       : fmt::format("path; {}", fmt::join(words_of(row.allowed), ", "));
        case Type::program:
            return "program";
        case Type::text:
            return "text";
    }
    return {};
}

std::string describe_default(const SettingRow& row) {
    if (!row.computed.empty()) return std::string(row.computed);
    const std::string text = config::default_of(row);
    return text.empty() ? "none" : code(text);
}

std::string flags_of(const SettingRow& row) {
    if (row.flag.empty()) return {};
    std::string text(row.flag);
    if (const std::size_t comma = text.find(','); comma != std::string::npos)
        text.replace(comma, 1, "`, `");
    return "`" + text + "`";
}

}  // namespace

std::string settings_schema() {
    ordered_json schema{
        {"$schema", "http://json-schema.org/draft-07/schema#"},
        {"$comment",
         "Generated from runner/config/settings_table.h. For runner.json, "
         "~/.config/runner/config.json and [tool.runner] of pyproject.toml."},
        {"title", "runner's configuration"},
        {"type", "object"},
        {"additionalProperties", false},
        {"properties",
         {{"$schema", {{"type", "string"}, {"description", "Path or URL of this schema."}}}}}};
    for (const SettingRow& row : kSettings)
        schema["properties"][std::string(row.key)] = schema_of(row);
    return schema.dump(2) + "\n";
}

Rows settings() {
    Rows rows;
    for (const SettingRow& row : kSettings)
        rows.push_back({code(row.key), flags_of(row), code(row.variable),
                        row.in_suite.empty() ? "" : code(row.in_suite), values_of(row),
                        describe_default(row), std::string(row.help)});
    return rows;
}

Rows limits() {
    const auto schema = nlohmann::ordered_json::parse(suites::schema_text());
    Rows rows;
    for (const auto& [key, limit] : schema["properties"]["limits"]["properties"].items()) {
        const std::string in_suite = "limits." + key;
        const auto* const row = std::ranges::find(kSettings, in_suite, &SettingRow::in_suite);
        rows.push_back({code(in_suite), row == kSettings.end() ? "" : flags_of(*row),
                        limit.contains("default") ? limit["default"].dump() : "none", kProse});
    }
    return rows;
}

}  // namespace compat::docs
