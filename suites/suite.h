// What to run: a suite as a validated value. Loading: suites/load.h. Not here: which of its modules
// a command selects (runner/plan), where its sources and environment lie (runner/prepare).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/framework.h"

namespace compat::suites {

enum class SourceKind { path, pypi_wheel, pypi_sdist, git, debian };

struct Source {
    SourceKind kind = SourceKind::path;
    std::string
        what;         // "einops==0.8.2", a git URL, a package name, or a path relative to the suite
    std::string rev;  // git only: tag or commit
};

struct Layout {
    std::string tests = "tests";          // folder of the test modules, relative to the root
    std::vector<std::string> pythonpath;  // folders relative to the root, for PYTHONPATH
    std::vector<std::string> modules;     // globs on file names: "test_*.py"
    std::vector<std::string> exclude;     // globs on paths relative to the root
};

// A named part of a suite; a TARGET may be its name. Where `by_default` is false, a run without
// targets leaves it out (and says so).
struct Group {
    std::string name;
    std::vector<std::string> paths;  // folders or globs relative to the root
    bool by_default = true;
};

// Time limits are settings (Suite::given).
struct Limits {
    std::uint64_t log_bytes = 64ull << 20;
    std::uint64_t events_bytes = 16ull << 20;  // of the text of failures in an events file
    std::uint64_t memory_bytes = 0;            // 0: no limit
    int restarts = 20;
};

struct Suite {
    std::filesystem::path folder;  // where suite.json lies; the project itself where there is none
    bool by_convention = false;    // no suite.json: layout and framework were found, not read
    std::vector<std::string> found;  // by_convention: what was found and from what, for people

    std::string name;
    Source source;
    Layout layout;
    Framework framework = Framework::unittest;
    std::string requirements;  // file name relative to `folder`; empty: none
    std::vector<std::pair<std::string, std::string>> env;  // in the file's order
    std::vector<std::string> system_packages;
    std::vector<std::string> preload;
    Limits limits;
    std::vector<Group> groups;
    std::string links_base;  // "https://…/blob/{commit}/{path}#L{line}"; empty: none

    // The single values that suite.json gives, as a flag would give them, by their keys: "retries",
    // "limits.module_timeout". What a user may override is read from here (runner/config).
    std::map<std::string, std::string, std::less<>> given;
};

[[nodiscard]] std::string_view name_of(SourceKind kind);

// Globs on file names where a suite gives none: the framework's own.
[[nodiscard]] std::vector<std::string> default_modules(Framework framework);

}  // namespace compat::suites
