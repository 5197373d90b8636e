// Matches globs on paths: `*`, `?`, `[abc]` in a component, `**` for components. Reads no folder.
#pragma once

#include <string_view>

namespace compat::suites {

// Both are separated by '/'; the whole `path` must match.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view path);

// Also true if a parent folder of `path` matches: "tests/models" covers "tests/models/a.py".
[[nodiscard]] bool glob_covers(std::string_view glob, std::string_view path);

[[nodiscard]] bool is_glob(std::string_view text);

}  // namespace compat::suites
