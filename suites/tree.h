// The files of a source tree that may be tests or configuration. What is no source is left out:
// hidden folders (.git, .venv, .tox), __pycache__, node_modules, virtual environments, *.egg-info,
// and `build` and `dist` at the tree's root.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace compat::suites {

struct TreeFile {
    std::string path;  // relative to the root, '/' separated
    std::uintmax_t bytes = 0;
    bool executable = false;  // by its owner
    int unreadable = 0;       // errno of a folder whose files cannot be listed; 0: a file
};

// The regular files, and the folders that cannot be read, in `folder` (relative to `root`; "" or
// ".": all of it) and below, sorted by path. Folders that are symbolic links are not entered, files
// that are links to outside the root are left out; a file that cannot be read is taken as empty.
[[nodiscard]] std::vector<TreeFile> list_tree(const std::filesystem::path& root,
                                              const std::filesystem::path& folder = {});

}  // namespace compat::suites
