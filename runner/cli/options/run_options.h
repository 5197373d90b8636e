// The options of `run` and those that `plan`, `porting` and `report` share with it. `resume` and
// `rerun` parse a stored run's command line with them.
#pragma once

#include "runner/cli/command.h"
#include "runner/run/resume.h"
#include "runner/run/run_suite.h"

namespace compat::cli {

// TARGET, -k, --env, --no-warm, -q, -v.
void add_selection(CLI::App& app, run::RunRequest& request, config::Flags& flags);

// --maxfail, -x, --order, --flaky-fails, --fail-on.
void add_conditions(CLI::App& app, run::RunRequest& request);

[[nodiscard]] const std::vector<config::Setting>& run_settings();

// --junit, --ctrf, --github.
void add_report_files(CLI::App& app, run::ExtraReports& reports);

// --no-issue-text.
void add_no_issue_text(CLI::App& app, config::Flags& flags);

// `argv` is the stored command line of a run. Errors: usage, if it has options that this runner
// does not know.
[[nodiscard]] Expected<run::StoredCommand> parse_stored_command(
    const std::vector<std::string>& argv);

}  // namespace compat::cli
