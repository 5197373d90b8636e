// A project without suite.json, as a suite: what its folders and its configuration say about where
// its tests lie and what drives them. Reads the tree; imports and runs nothing of it.
#pragma once

#include <filesystem>

#include "runner/base/error.h"
#include "suites/suite.h"

namespace compat::suites {

// The project in `folder`: its name is the folder's, `found` says what was found and from what.
// Errors (suite): no test module in it.
[[nodiscard]] Expected<Suite> find_by_convention(const std::filesystem::path& folder);

}  // namespace compat::suites
