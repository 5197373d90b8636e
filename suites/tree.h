// Lists the files of a source tree, for tests and configuration. Skips hidden folders (.git, .venv,
// .tox), __pycache__, node_modules, virtual environments, *.egg-info, the runner's own results, and
// `build` and `dist` at the root.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/base/files/fs.h"

namespace compat::suites {

struct TreeFile {
    std::string path;  // relative to the root, separated by '/'
    std::uintmax_t bytes = 0;
    bool executable = false;  // for its owner
    int unreadable = 0;       // errno of an unreadable folder; 0: a file
};

// All regular files and unreadable folders below `folder` (relative to `root`; "" or "." is the
// root), sorted by path. Does not enter symbolic links to folders and skips links to files outside
// the root; an unreadable file has size 0.
[[nodiscard]] std::vector<TreeFile> list_tree(const fs::path& root, const fs::path& folder = {});

// Whether `folder` is a results folder or a run's: a run keeps copies of the tests that it names.
[[nodiscard]] bool holds_results(const fs::path& folder);

}  // namespace compat::suites
