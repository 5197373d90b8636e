// Runs a tool (pip, git, cmake) and waits for it. Not for the tests of suites, which need limits,
// sessions and events (runner/exec).
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/files/fs.h"

namespace compat::prepare {

// The current folder for a Python that is started with -c or -m: it imports from there, and a
// project may have a `json.py`.
inline constexpr const char* kNoProject = "/";

struct Tool {
    std::vector<std::string> argv;  // argv[0]: a path or a name on PATH, also a PATH in `env`
    fs::path cwd = ".";
    std::vector<std::pair<std::string, std::string>> env = {};  // added to our environment
    std::vector<std::string> unset = {};                        // removed from it
    unsigned limit_s = 0;                                       // time limit; 0: none
    fs::path input = {};                                        // of run_tool; empty: nothing
    std::string name = {};                                      // in errors; empty: the command
};

// Appends stdout and stderr to `log`. A signal or an exit code other than 0 is an error that names
// the command, the relevant line of its output, and the log. With a limit, what the tool started
// ends with it, and more than 64 MiB of output end it. A blocked signal that ends the runner ends
// it, too: error interrupted.
[[nodiscard]] Expected<void> run_tool(const Tool& tool, const fs::path& log);

// Returns stdout. Errors as for run_tool, with the relevant line of stderr, else of stdout.
[[nodiscard]] Expected<std::string> output_of(const Tool& tool);

// Starts a tool that outlives the runner, in a session of its own, without our terminal. `limit_s`
// is not used. An error if it cannot be started, or if within `watched` it ends with a signal or an
// exit code other than 0.
[[nodiscard]] Expected<void> start_tool(const Tool& tool, std::chrono::milliseconds watched);

// git in `folder`, without variables that select another repository (git hooks set them).
[[nodiscard]] Tool git(const fs::path& folder, std::vector<std::string> arguments);

// Absolute path of a program on PATH, or in the folders of `search_path`; empty: not found.
[[nodiscard]] fs::path find_program(const std::string& name);
[[nodiscard]] fs::path find_program(const std::string& name, const std::string& search_path);

// PATH for building the shim. The folder of the running program comes first, unless PATH has it:
// pip installs ninja there, and the Python there has PyYAML.
[[nodiscard]] std::string build_path();

}  // namespace compat::prepare
