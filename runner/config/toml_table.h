// Reads the table [tool.runner] of a pyproject.toml into keys and values with their positions. The
// only user of toml++. Not here: what the keys mean (config_file.h).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "suites/positions.h"

namespace compat::config {

// One key of a configuration file. A TOML value that JSON lacks (a date) is null.
struct Entry {
    std::string key;
    nlohmann::json value;
    suites::Position key_at, value_at;
};

// Nothing: the document has no such table. Errors (usage): invalid TOML, or not a table.
[[nodiscard]] Expected<std::optional<std::vector<Entry>>> read_tool_runner(std::string_view text,
                                                                           const fs::path& file);

// "FILE:LINE:COLUMN"
[[nodiscard]] std::string place(const fs::path& file, suites::Position at);

}  // namespace compat::config
