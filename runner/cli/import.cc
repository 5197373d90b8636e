// `runner import`: results that others made.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/foreign.h"
#include "runner/cli/commands.h"
#include "runner/run/import_results.h"

namespace compat::cli {

using config::Setting;

namespace {

Action add_import(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::ImportRequest>();
    app.add_option("FILE", request->files, "files, folders of them, or - for stdin")->required();
    app.add_option("--suite", request->suite, "the suite whose results they are")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option(
           "--dialect", request->dialect,
           fmt::format("instead of recognising it: {}", fmt::join(parsers::kDialectNames, ", ")))
        ->type_name("");
    app.add_option("--device", request->device, "the device they were made on: mps, cuda, cpu")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--torch", request->torch, "the version of torch they were made with")
        ->type_name("VERSION");
    app.add_option("--stdin-name", request->stdin_name, "what the file that - reads is called")
        ->type_name("NAME")
        ->capture_default_str();
    return exits_with_code(
        [request, &invocation] { return run::import_results(*request, invocation); });
}

}  // namespace

Command import_command() {
    return {"store results that others made as a run like any other",
            {Setting::results, Setting::name, Setting::root},
            "Example:\n  runner import target/surefire-reports ci.log --suite theirs --device mps",
            add_import};
}

}  // namespace compat::cli
