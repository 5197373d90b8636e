// The configuration files of a user and of a project: found, read and checked against the table of
// settings. Not here: suite.json (suites/load.h); which of several places counts (settings.h).
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "runner/base/error.h"
#include "runner/config/settings_table.h"

namespace compat::config {

struct ConfigFile {
    struct Given {
        std::string text;   // as a flag would give it; paths are absolute
        std::string where;  // "FILE:LINE:COLUMN"
    };

    std::filesystem::path path;
    std::map<Setting, Given> values;
};

// runner.json, or pyproject.toml with a table [tool.runner], of the first of these folders that has
// one: the suite's (which may be empty: none), the current one, its parents up to the one that
// holds .git. Outside of a checkout no parent is searched: it may be anybody's (/tmp). Errors
// (usage) name FILE:LINE:COLUMN and the key.
[[nodiscard]] Expected<std::optional<ConfigFile>> read_project_file(
    const std::filesystem::path& suite_folder);

// $XDG_CONFIG_HOME/runner/config.json, else ~/.config/runner/config.json.
[[nodiscard]] Expected<std::optional<ConfigFile>> read_user_file();

}  // namespace compat::config
