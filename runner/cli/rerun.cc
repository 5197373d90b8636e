// `runner rerun`: runs part of a stored run again, as a new run.
#include "runner/cli/commands.h"
#include "runner/cli/options/run_options.h"
#include "runner/cluster/run_on_slurm.h"
#include "runner/run/resume.h"

namespace compat::cli {

namespace {

Action add_rerun(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::RerunRequest>();
    app.add_option("RUN", request->run, kRunHelp)->capture_default_str();
    app.add_flag("--failed", request->failed,
                 "rerun tests that failed, errored, crashed or timed out");
    app.add_flag("--flaky", request->flaky, "rerun flaky tests");
    app.add_flag("--not-run", request->not_run, "rerun tests and modules that did not run");
    add_verbosity(app, request->verbosity);
    return exits_with_code([request, &invocation] {
        return run::rerun(*request, invocation, parse_stored_command, cluster::run_here_or_there);
    });
}

}  // namespace

Command rerun_command() {
    return {"run part of a stored run again, as a new run",
            {Setting::jobs, Setting::timeout, Setting::test_timeout, Setting::retries,
             Setting::results, Setting::progress, Setting::color, Setting::warm, Setting::confirm},
            "Give at least one of --failed, --flaky and --not-run.\n"
            "Limits and retries default to those of the stored run.\n"
            "Example:\n  runner rerun gpytorch@latest --failed --not-run",
            add_rerun,
            false,
            false};
}

}  // namespace compat::cli
