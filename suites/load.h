// Loads the suite of a folder: from suite.json (JSON with comments, suite.schema.json,
// docs/reference/suite-format.md), or detected without one (convention.h).
// Reads the folder and writes nothing.
// Not here: whether the files that a suite names exist (runner/prepare).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "suites/suite.h"

namespace compat::suites {

inline constexpr int kFormat = 1;

// `shipped`: suites to suggest for a mistyped folder, as the user would write them.
// Errors (suite): no such folder, no tests, or an invalid suite.json, with file:line:column.
[[nodiscard]] Expected<Suite> load_suite(const fs::path& folder,
                                         std::span<const std::string> shipped = {});

// Parses the text of a suite.json. `file` is its name in errors, and its folder is the folder of
// the suite.
[[nodiscard]] Expected<Suite> parse_suite(std::string_view text, const fs::path& file);

}  // namespace compat::suites
