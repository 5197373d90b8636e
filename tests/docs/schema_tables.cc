// Tables of JSON schemas, of the database's schema and of the rules of the simulation.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "runner/base/files.h"
#include "runner/store/migrations.h"
#include "runner/store/store_impl.h"
#include "suites/schema.h"
#include "tests/docs/tables.h"
#include "tests/paths.h"

namespace compat::docs {

namespace {

using nlohmann::ordered_json;

ordered_json read_json(std::string_view path) {
    return ordered_json::parse(read_file(std::filesystem::path(COMPAT_SOURCE_DIR) / path).value());
}

// A default of "" and one that is no constant are prose.
Cell default_cell(const ordered_json& key, bool required) {
    if (required) return "required";
    if (!key.contains("default") || key["default"] == "") return kProse;
    return code(key["default"].dump());
}

void add_keys(const ordered_json& node, const std::string& around, Rows& rows) {
    const auto required = node.value("required", std::vector<std::string>{});
    if (node.contains("properties"))
        for (const auto& [key, inner] : node["properties"].items()) {
            const bool is_required = std::ranges::find(required, key) != required.end();
            rows.push_back({code(around + key), default_cell(inner, is_required), kProse});
            add_keys(inner, around + key + '.', rows);
        }
    if (node.contains("patternProperties"))
        for (const auto& [pattern, inner] : node["patternProperties"].items())
            add_keys(inner, around + "*.", rows);
}

Rows names_in_database(std::string_view type) {
    auto store = store::Store::temporary().value();
    auto row = store.impl().database.prepare(
        "SELECT name FROM sqlite_schema WHERE sql IS NOT NULL AND type = ? ORDER BY rowid");
    row.bind(1, type);
    Rows rows;
    while (row.step()) rows.push_back({code(row.text(0)), kProse});
    return rows;
}

ordered_json rules() { return read_json("shim/simulate/mps_refusals.json"); }

std::string joined_codes(const ordered_json& names) {
    std::vector<std::string> codes;
    for (const auto& name : names) codes.push_back(code(name.get<std::string>()));
    return fmt::format("{}", fmt::join(codes, ", "));
}

std::string format_dtypes(const ordered_json& dtypes) {
    static const std::map<std::string, std::string> kGroups{
        {"integral", "integers, bool"},
        {"narrow_integral", "bool, and integers other than int64"},
        {"half", "float16, bfloat16"},
        {"unsigned", "uint16, uint32, uint64"},
        {"floating", "float32, float16, bfloat16"}};
    std::vector<std::string> words;
    for (const auto& dtype : dtypes) {
        const auto name = dtype.get<std::string>();
        const auto group = kGroups.find(name);
        words.push_back(group == kGroups.end() ? name : group->second);
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string file_of(const ordered_json& section) {
    return std::filesystem::path(section["source"].get<std::string>()).filename();
}

// "`self`: int64; reduces by product"
std::string format_condition(const ordered_json& rule) {
    std::vector<std::string> words;
    const std::string argument =
        rule.value("promoted", false) ? "promoted" : code(rule.value("argument", ""));
    if (rule.value("elsewhere", false)) words.push_back(argument + " on the CPU");
    if (rule.contains("dtypes")) words.push_back(argument + ": " + format_dtypes(rule["dtypes"]));
    if (rule.contains("condition")) {
        words.push_back(rule["condition"]);
        std::ranges::replace(words.back(), '_', ' ');
    }
    if (rule.contains("requires")) words.emplace_back("as the text says");
    return fmt::format("{}", fmt::join(words, "; "));
}

}  // namespace

Rows suite_keys() {
    Rows rows;
    add_keys(ordered_json::parse(suites::schema_text()), "", rows);
    return rows;
}

Rows gap_fields() {
    Rows rows;
    const auto schema = read_json("reports/schemas/report.schema.json");
    for (const auto& [name, field] : schema["properties"]["gaps"]["items"]["properties"].items())
        rows.push_back({code(name), kProse});
    return rows;
}

Rows progress_events() {
    Rows rows;
    const auto schema = read_json("reports/schemas/progress.schema.json");
    for (const auto& name : schema["properties"]["event"]["enum"])
        rows.push_back({code(name.get<std::string>()), kProse, kProse});
    return rows;
}

Rows process_ends() {
    Rows rows;
    const auto schema = read_json("reports/schemas/progress.schema.json");
    for (const auto& end : schema["definitions"]["outcome"]["oneOf"]) {
        const auto& kind = end["properties"]["kind"];
        std::vector<std::string> keys;
        for (const auto& [key, value] : end["properties"].items())
            if (key != "kind" && key != "words") keys.push_back(code(key));
        const auto names =
            kind.contains("const") ? ordered_json::array({kind["const"]}) : kind["enum"];
        for (const auto& name : names)
            rows.push_back({code(name.get<std::string>()),
                            keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "))});
    }
    return rows;
}

Rows database_tables() { return names_in_database("table"); }
Rows database_views() { return names_in_database("view"); }
Rows database_indices() { return names_in_database("index"); }

Rows database_versions() {
    Rows rows;
    for (const store::Migration& step : store::migrations())
        rows.push_back({fmt::format("{}", step.version), kProse});
    return rows;
}

// The versions of torch, and of macOS, in which a rule holds; empty: in all.
std::string format_version(const ordered_json& rule) {
    std::vector<std::string> words;
    if (rule.contains("macos_since"))
        words.push_back("from macOS " + rule["macos_since"].get<std::string>());
    if (rule.contains("macos_until"))
        words.push_back("before macOS " + rule["macos_until"].get<std::string>());
    if (rule.contains("since")) words.push_back("from " + rule["since"].get<std::string>());
    if (rule.contains("until")) words.push_back("before " + rule["until"].get<std::string>());
    return fmt::format("{}", fmt::join(words, ", "));
}

Rows refusals() {
    Rows rows;
    const auto all = rules();
    for (const auto& section : all["refusals"])
        for (const auto& rule : section["rules"]) {
            // Fields that are filled in from arguments are C++ (refusals.py).
            static const std::regex filled(R"(\{[^{}]*\W[^{}]*\})");
            const std::string text =
                rule.contains("text")
                    ? std::regex_replace(rule["text"].get<std::string>(), filled, "…")
                    : "Failed to create function state object for: " +
                          rule["kernel"].get<std::string>();
            const std::string error = rule.value("error", "");
            rows.push_back({file_of(section), joined_codes(rule["ops"]), format_condition(rule),
                            error.empty() ? text : error + ": " + text, format_version(rule)});
        }
    return rows;
}

Rows promoted_dtypes() {
    Rows rows;
    const auto all = rules();
    for (const auto& section : all["computed"])
        for (const auto& rule : section["rules"])
            rows.push_back({file_of(section), joined_codes(rule["ops"]),
                            format_dtypes(rule["dtypes"]), format_version(rule)});
    return rows;
}

Rows metal_kernels() {
    Rows rows;
    const auto all = rules();
    for (const auto& section : all["metal"])
        for (const auto& rule : section["rules"])
            rows.push_back({file_of(section), joined_codes(rule["ops"]),
                            code(rule["kernel"].get<std::string>()), format_version(rule)});
    return rows;
}

namespace {

// The rows of the table that `runner scan` decides by, of these actions.
Rows cuda_uses(const std::vector<std::string_view>& actions, bool with_version) {
    Rows rows;
    const auto table = read_json("runner/harness/scan/cuda_uses.json");
    for (const auto& use : table["uses"]) {
        if (std::ranges::find(actions, use["action"].get<std::string>()) == actions.end()) continue;
        rows.push_back({use["code"].get<std::string>(), use["write"].get<std::string>()});
        if (with_version) rows.back().emplace_back(use.value("torch", ""));
    }
    return rows;
}

}  // namespace

Rows scan_groups() {
    Rows rows;
    const auto table = read_json("runner/harness/scan/cuda_uses.json");
    for (const auto& action : table["actions"])
        rows.push_back({action["title"].get<std::string>(), action["what"].get<std::string>()});
    return rows;
}

Rows cuda_replacements() { return cuda_uses({"replace", "review"}, true); }
Rows cuda_only() { return cuda_uses({"branch", "none", "keep"}, false); }

}  // namespace compat::docs
