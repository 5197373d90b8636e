// Reads the table [tool.runner] of a pyproject.toml into keys and values with their positions. The
// only user of toml++. Not here: what the keys mean (config_file.h).
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "suites/positions.h"

namespace compat::config {

// One key of a configuration file. A TOML value that JSON lacks (a date) is null.
struct Entry {
    std::string key;
    nlohmann::json value;
    suites::Position key_at, value_at;
};

// Nothing: the document has no such table. Errors (usage): invalid TOML, or not a table.
[[nodiscard]] Expected<std::optional<std::vector<Entry>>> read_tool_runner(
    std::string_view text, const std::filesystem::path& file);

// "FILE:LINE:COLUMN"
[[nodiscard]] std::string place(const std::filesystem::path& file, suites::Position at);

}  // namespace compat::config
