// Parses the command line into a command and its options, and runs it. Not here: the commands
// (command.h, commands.h).
#pragma once

#include <memory>
#include <variant>

#include "runner/cli/command.h"

namespace compat::cli {

struct Parsed {
    std::unique_ptr<config::Invocation> invocation;  // `action` refers to it
    std::string_view command;                        // its name in commands.h
    Action action;
    bool json_progress = false;  // --progress json: stdout is for programs
};

// If the line asks for help or has an error: prints it and returns the exit code.
[[nodiscard]] std::variant<Parsed, int> parse_command_line(int argc, char** argv);

// Adds all commands to the description of a command line that is only read, never parsed.
void describe_commands(CLI::App& app, config::Invocation& invocation);

// The program's main function, in the library so that it is compiled in its batch (program.cc).
// Returns the exit code.
[[nodiscard]] int run_program(int argc, char** argv);

}  // namespace compat::cli
