// `runner prepare`: fetches source, makes environment and builds shim of a suite.
#include "runner/cli/commands.h"
#include "runner/display/output.h"
#include "runner/run/ready.h"

namespace compat::cli {

namespace {

Expected<ExitCode> prepare_suite(const std::string& suite, const config::Invocation& invocation) {
    auto ready = TRY(run::open_suite(suite, invocation, display::say_to(stdout)));
    TRY(run::make_ready(ready, run::Need::children, display::say_to(stdout)));
    print("{}: {}\nsource: {}{}\nenvironment: {}\n", ready.suite.name,
          run::describe_settings(ready), ready.child.root.string(),
          ready.prepared.source.commit.empty() ? "" : " (" + ready.prepared.source.commit + ")",
          ready.child.python.string());
    if (!ready.prepared.shim_library.empty())
        print("shim: {}\n", ready.prepared.shim_library.string());
    return ExitCode::ok;
}

Action add_prepare(CLI::App& app, config::Invocation& invocation) {
    auto suite = std::make_shared<std::string>();
    app.add_option("SUITE", *suite, kSuiteHelp)->required();
    return exits_with_code([suite, &invocation] { return prepare_suite(*suite, invocation); });
}

}  // namespace

Command prepare_command() {
    return {"fetch the source, make the environment, build the shim",
            {Setting::shim, Setting::python, Setting::root, Setting::framework,
             Setting::torch_requirement},
            "Example:\n  runner prepare suites/gpytorch",
            add_prepare};
}

}  // namespace compat::cli
