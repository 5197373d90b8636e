// A suite as a validated value: what to run. Not here: loading (load.h), selecting modules
// (runner/plan), and the folders of sources and environments (runner/prepare).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/base/files/fs.h"
#include "runner/base/framework.h"

namespace compat::suites {

enum class SourceKind { path, pypi_wheel, pypi_sdist, git, debian };

struct Source {
    SourceKind kind = SourceKind::path;
    std::string
        spec;         // "einops==0.8.2", a git URL, a package name, or a path relative to the suite
    std::string rev;  // git only: tag or commit
};

struct Layout {
    std::string tests = "tests";          // folder of the test modules, relative to the root
    std::vector<std::string> pythonpath;  // folders relative to the root, for PYTHONPATH
    std::vector<std::string> modules;     // globs on file names: "test_*.py"
    std::vector<std::string> exclude;     // globs on paths relative to the root
};

// A named part of a suite, usable as a TARGET. A run without targets skips a group, with a note, if
// `by_default` is false.
struct Group {
    std::string name;
    std::vector<std::string> paths;  // folders or globs relative to the root
    bool by_default = true;
};

// Timeouts are in Suite::setting_texts.
struct Limits {
    std::uint64_t log_bytes = 64ull << 20;
    std::uint64_t events_bytes = 16ull << 20;  // bound on the text of failures in an events file
    std::uint64_t memory_bytes = 0;            // 0: no limit
    int restarts = 20;
};

struct Suite {
    fs::path folder;                    // of suite.json, or of the project without one
    bool by_convention = false;         // no suite.json: layout and framework were detected
    std::vector<std::string> detected;  // by_convention: what was detected and where, for people

    std::string name;
    Source source;
    Layout layout;
    Framework framework = Framework::unittest;
    std::string requirements;  // file name relative to `folder`; empty: none
    std::vector<std::pair<std::string, std::string>> env;  // in the order of the file
    // How the suite learns its device; `{device}` stands for cpu, cuda, mps, …
    std::vector<std::pair<std::string, std::string>> device_env;  // in the order of the file
    std::vector<std::string> device_options;                      // for pytest
    std::vector<std::string> system_packages;
    // Modules that warm start imports; not given: those that most test modules import.
    std::optional<std::vector<std::string>> preload;
    Limits limits;
    std::vector<Group> groups;
    std::string links_base;  // "https://…/blob/{commit}/{path}#L{line}"; empty: none

    // The scalar values in suite.json as text of a flag; key: "retries", "limits.module_timeout".
    // runner/config reads the settings that users may override from here.
    std::map<std::string, std::string, std::less<>> setting_texts;
};

[[nodiscard]] std::string_view name_of(SourceKind kind);

// The globs of the framework, for a suite without globs.
[[nodiscard]] std::vector<std::string> default_modules(Framework framework);

}  // namespace compat::suites
