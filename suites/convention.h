// Detects the suite of a project without suite.json: its test modules and its framework, from
// folders and configuration files. Reads files only; imports and runs no code of the project.
#pragma once

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "suites/suite.h"

namespace compat::suites {

// The suite takes the name of the folder; `detected` lists what was detected and where.
// Errors (suite): no test module.
[[nodiscard]] Expected<Suite> find_by_convention(const fs::path& folder);

}  // namespace compat::suites
