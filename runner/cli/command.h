// A command: its name, its help, its options, and the function that does it. Each stands in a file
// of its own, named after it; the table of all of them is commands.h. Not here: what a command does
// to runs and results (runner/run, runner/archive).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"

namespace compat::cli {

// Returns what the process exits with.
using Action = std::function<Expected<int>()>;

struct Command {
    std::string_view help;                  // its line in `runner --help`
    std::vector<config::Setting> settings;  // that it takes as flags; any other is an error
    std::string_view examples;              // below its own help; empty: none
    // Adds the options that are not settings. `invocation` is complete when the action is called,
    // and outlives it; `app` does not: what an action needs of it is taken by the app's callback.
    Action (*add)(CLI::App& app, config::Invocation& invocation);
    // Whether what follows the first "--" is passed on: Invocation::passed_on.
    bool passes_on = false;
};

// Flags for these settings.
void add_settings(CLI::App& app, const std::vector<config::Setting>& settings,
                  config::Flags& flags);

inline constexpr const char* kSuiteHelp =
    "a suite's folder, a shipped suite's name, or a project's folder";
inline constexpr const char* kTargetHelp =
    "folder, file, glob, dotted module, group or path::Class::test [whole suite]";
inline constexpr const char* kRunHelp =
    "run id, unique prefix of one, latest, latest~1 or SUITE@latest";

// -q and -v, as a number: -1, 0 or 1.
void add_verbosity(CLI::App& app, int& verbosity);

// An action that gives an exit code.
template <class Function>
[[nodiscard]] Action exits_with_code(Function function) {
    return [function = std::move(function)]() -> Expected<int> {
        return function().map([](ExitCode code) { return static_cast<int>(code); });
    };
}

}  // namespace compat::cli
