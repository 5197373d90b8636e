// Finds and reads the configuration files of user and project and checks them against the table of
// settings. Not here: suite.json (suites/load.h); the order of precedence (settings.h).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/config/settings_table.h"

namespace compat::config {

struct ConfigFile {
    struct Given {
        std::string text;   // as a flag would give it; paths are absolute
        std::string where;  // "FILE:LINE:COLUMN"
    };

    fs::path path;
    std::map<Setting, Given> values;
};

// Reads runner.json, or pyproject.toml with a table [tool.runner], of the first folder that has
// one: the suite's (empty: none), the current one, its parents up to the one that holds .git.
// Outside a checkout no parent is searched: anybody may write there (/tmp). Errors (usage) name
// FILE:LINE:COLUMN and the key.
[[nodiscard]] Expected<std::optional<ConfigFile>> read_project_file(const fs::path& suite_folder);

// $XDG_CONFIG_HOME/runner/config.json, else ~/.config/runner/config.json.
[[nodiscard]] Expected<std::optional<ConfigFile>> read_user_file();

}  // namespace compat::config
