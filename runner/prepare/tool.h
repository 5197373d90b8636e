// Runs a tool (pip, git, cmake) to its end with its output in a file. Not for suites' tests: those
// are runner/exec's, with time-outs, sessions and events.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runner/base/error.h"

namespace compat::prepare {

struct Tool {
    std::vector<std::string> argv;  // argv[0]: a name that is looked up on PATH, or a path
    std::filesystem::path cwd = ".";
    std::vector<std::pair<std::string, std::string>> env = {};  // added to ours
    std::vector<std::string> unset = {};                        // taken from ours
    unsigned limit_s = 0;                                       // killed after it; 0: none
};

// Appends stdout and stderr to `log`. An exit code other than 0, or a signal, is an error that
// names the command, its last line of output, and the log.
[[nodiscard]] Expected<void> run_tool(const Tool& tool, const std::filesystem::path& log);

// The tool's stdout; stderr is dropped. As for run_tool, a bad exit code is an error.
[[nodiscard]] Expected<std::string> output_of(const Tool& tool);

// git in `folder`, deaf to variables that would point it at another repository (hooks set them).
[[nodiscard]] Tool git(const std::filesystem::path& folder, std::vector<std::string> arguments);

// Absolute path of a program on PATH; empty where there is none.
[[nodiscard]] std::filesystem::path find_program(const std::string& name);

}  // namespace compat::prepare
