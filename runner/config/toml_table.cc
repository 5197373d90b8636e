#include "runner/config/toml_table.h"

#include <fmt/format.h>

// Header-only, so that no library must be shipped for this one file.
#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

namespace compat::config {

namespace {

suites::Position position_of(const toml::source_region& region) {
    return {static_cast<int>(region.begin.line), static_cast<int>(region.begin.column)};
}

nlohmann::json json_of(const toml::node& node) {
    if (const auto* value = node.as_boolean()) return value->get();
    if (const auto* value = node.as_integer()) return value->get();
    if (const auto* value = node.as_floating_point()) return value->get();
    if (const auto* value = node.as_string()) return value->get();
    if (node.is_array()) return nlohmann::json::array();
    if (node.is_table()) return nlohmann::json::object();
    return nullptr;
}

}  // namespace

std::string place(const fs::path& file, suites::Position at) {
    return fmt::format("{}:{}:{}", file.string(), at.line, at.column);
}

Expected<std::optional<std::vector<Entry>>> read_tool_runner(std::string_view text,
                                                             const fs::path& file) {
    const toml::parse_result parsed = toml::parse(text);
    if (!parsed) {
        const toml::parse_error& error = parsed.error();
        return fail(ErrorKind::usage,
                    fmt::format("not TOML: {}", std::string_view(error.description())), {},
                    place(file, position_of(error.source())));
    }
    const toml::node* const node = parsed.table().at_path("tool.runner").node();
    if (!node) return std::nullopt;
    const toml::table* const table = node->as_table();
    if (!table)
        return fail(ErrorKind::usage, "\"runner\": expected a table of settings", {},
                    place(file, position_of(node->source())));
    std::vector<Entry> entries;
    for (const auto& [key, value] : *table)
        entries.push_back({std::string(key.str()), json_of(value), position_of(key.source()),
                           position_of(value.source())});
    return entries;
}

}  // namespace compat::config
