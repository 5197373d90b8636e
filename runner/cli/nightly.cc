// `runner nightly`: runs a matrix of suites and columns, compares, and writes the site.
#include "runner/nightly/nightly.h"

#include "runner/cli/commands.h"
#include "runner/cli/options/run_options.h"

namespace compat::cli {

namespace {

Action add_nightly(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<nightly::NightlyRequest>();
    app.add_option("FILE", request->file, "a nightly.json: suites, columns, where results go")
        ->required();
    app.add_flag("--resume", request->resume, "resume the latest interrupted night");
    app.add_flag("--dry-run", request->dry_run,
                 "print cells, modules and expected time without running them");
    add_verbosity(app, request->verbosity);
    return exits_with_code([request, &invocation] {
        return nightly::run_nightly(*request, invocation, parse_stored_command);
    });
}

}  // namespace

Command nightly_command() {
    return {"run the nightly matrix and update its site",
            {Setting::results, Setting::jobs, Setting::progress, Setting::color},
            "Start it with cron, a systemd timer or a CI schedule: docs/guide/nightly.md.\n"
            "Example:\n  runner nightly nightly.json",
            add_nightly};
}

}  // namespace compat::cli
