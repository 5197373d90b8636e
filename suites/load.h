// From a folder to a Suite: suite.json (JSON with comments, suite.schema.json,
// docs/reference/suite-format.md), or, where there is none, what convention finds
// (suites/convention.h). Reads the folder, writes nothing. Not here: whether the files that a suite
// names exist for a run (runner/prepare).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "runner/base/error.h"
#include "suites/suite.h"

namespace compat::suites {

inline constexpr int kFormat = 1;

// `shipped`: the suites that a mistyped folder may have meant, as the user would write them.
// Errors (suite): no such folder, no test in it, or suite.json refused at file:line:column.
[[nodiscard]] Expected<Suite> load_suite(const std::filesystem::path& folder,
                                         std::span<const std::string> shipped = {});

// The text of one suite.json; `file` is its name in errors, and the folder it lies in is the
// suite's.
[[nodiscard]] Expected<Suite> parse_suite(std::string_view text, const std::filesystem::path& file);

}  // namespace compat::suites
