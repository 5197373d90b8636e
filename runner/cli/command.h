// A command: its help, its options and its action. Each has a file of its name; commands.h lists
// them. Not here: the work of a command (runner/run, runner/archive).
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/base/exit_code.h"
#include "runner/config/settings.h"
#include "runner/display/output.h"

namespace compat::cli {

// Every command needs them.
using config::Setting;
using display::print;

// Returns what the process exits with.
using Action = std::function<Expected<int>()>;

struct Command {
    std::string_view help;          // its line in `runner --help`
    std::vector<Setting> settings;  // its flags
    std::string_view examples;      // below its help; empty: none
    // Adds the options that are not settings. The action may use `invocation`, which is complete
    // then and outlives it. It must not use `app`, which is gone.
    Action (*add)(CLI::App& app, config::Invocation& invocation);
    // Whether words after the first "--" go to Invocation::passed_on.
    bool passes_on = false;
    bool shows_defaults = true;  // of its settings, in its help
};

void add_settings(CLI::App& app, const std::vector<Setting>& settings, config::Flags& flags,
                  bool shows_defaults = false);

inline constexpr const char* kSuiteHelp =
    "a suite's folder, a shipped suite's name, or a project's folder";
inline constexpr const char* kTargetHelp =
    "folder, file, glob, dotted module, group or path::Class::test [all]";
inline constexpr const char* kRunHelp =
    "run id, unique prefix of one, latest, latest~1 or SUITE@latest";

// -q and -v, as a number: -1, 0 or 1.
void add_verbosity(CLI::App& app, int& verbosity);

template <class Function>
[[nodiscard]] Action exits_with_code(Function function) {
    return [function = std::move(function)]() -> Expected<int> {
        return function().map([](ExitCode code) { return static_cast<int>(code); });
    };
}

}  // namespace compat::cli
