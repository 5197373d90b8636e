// The project whose tests `runner scan --fix --verify` runs. Not for running them (verify_fixes.h).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runner/base/error.h"
#include "runner/config/settings.h"
#include "runner/prepare/prepare.h"

namespace compat::run {

// The folder above all `paths` that has a project's files (pyproject.toml, .git), else that of the
// first.
[[nodiscard]] std::filesystem::path project_above(const std::vector<std::string>& paths);

// Where the tests of the scanned code are: its folder, the environment that runs them.
struct TestedProject {
    std::filesystem::path folder;
    std::string name;
    std::string python;
    std::string torch;        // version; never empty
    std::string accelerator;  // of this host: cpu, cuda, mps
};

// `folder`: as given; empty: project_above(paths). Fetches and builds what is missing. Errors:
// usage, if a path is outside or there is no torch; suite, if it has no tests.
[[nodiscard]] Expected<TestedProject> find_tested_project(const std::string& folder,
                                                          const std::vector<std::string>& paths,
                                                          const config::Invocation& invocation,
                                                          const prepare::Say& say);

}  // namespace compat::run
