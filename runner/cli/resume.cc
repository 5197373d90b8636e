// `runner resume`: continues an interrupted run.
#include "runner/run/resume.h"

#include "runner/cli/commands.h"
#include "runner/cli/options/run_options.h"

namespace compat::cli {

namespace {

Action add_resume(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::ResumeRequest>();
    app.add_option("RUN", request->run, kRunHelp)->capture_default_str();
    add_verbosity(app, request->verbosity);
    return exits_with_code([request, &invocation] {
        return run::resume_run(*request, invocation, parse_stored_command);
    });
}

}  // namespace

Command resume_command() {
    return {"continue an interrupted run",
            {Setting::jobs, Setting::timeout, Setting::test_timeout, Setting::retries,
             Setting::results, Setting::progress, Setting::color, Setting::warm, Setting::confirm},
            "Limits and retries default to those of the stored run.\n"
            "Example:\n  runner resume einops@latest",
            add_resume,
            false,
            false};
}

}  // namespace compat::cli
