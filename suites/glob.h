// Globs on paths: `*`, `?` and `[abc]` within a component, `**` over any number of components.
#pragma once

#include <string_view>

namespace compat::suites {

// Both are '/' separated; the whole of `path` has to match.
[[nodiscard]] bool glob_matches(std::string_view glob, std::string_view path);

// As above, or one of the folders around `path` matches: "tests/models" takes "tests/models/a.py".
[[nodiscard]] bool glob_covers(std::string_view glob, std::string_view path);

[[nodiscard]] bool is_glob(std::string_view text);

}  // namespace compat::suites
