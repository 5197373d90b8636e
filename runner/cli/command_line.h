// The command line: which command it names, and its options as values. Not here: the commands
// (command.h, commands.h).
#pragma once

#include <memory>
#include <variant>

#include "runner/cli/command.h"

namespace compat::cli {

// A command line that was understood.
struct Parsed {
    std::unique_ptr<config::Invocation> invocation;  // that `action` refers to
    std::string_view command;                        // its name in commands.h
    Action action;
    bool json_progress = false;  // --progress json: stdout is for programs
};

// The command; or, where the line asks for help or is wrong, the exit code, after printing.
[[nodiscard]] std::variant<Parsed, int> parse_command_line(int argc, char** argv);

}  // namespace compat::cli
