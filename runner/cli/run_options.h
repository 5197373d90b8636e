// The options of `run`, and those that `porting` shares with it. They are also what a stored run's
// command is read by when it is resumed or run again.
#pragma once

#include "runner/cli/command.h"
#include "runner/run/resume.h"
#include "runner/run/run_request.h"

namespace compat::cli {

// TARGET, -k, --env, --no-warm, -q, -v.
void add_selection(CLI::App& app, run::RunRequest& request, config::Flags& flags);

// `argv` of a command that was stored with its run. Errors: usage, where this runner does not
// understand it.
[[nodiscard]] Expected<run::StoredCommand> parse_stored_command(
    const std::vector<std::string>& argv);

}  // namespace compat::cli
