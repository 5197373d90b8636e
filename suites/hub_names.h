// The file hub.names.json: what models and datasets are that a suite's tests name, for a hub that
// generates them (JSON with comments, hub_names.schema.json, docs/guide/hub.md). Not here: making
// them (runner/hub/generate).
#pragma once

#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::suites {

inline constexpr int kHubNamesFormat = 1;
inline constexpr std::string_view kHubNamesFile = "hub.names.json";

// The text of a hub.names.json as JSON without comments. `file` is its name in errors. Errors:
// suite, with file:line:column.
[[nodiscard]] Expected<std::string> parse_hub_names(std::string_view text, const fs::path& file);

}  // namespace compat::suites
