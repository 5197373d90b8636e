// `runner import`: stores results of other tools as a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/import/importers.h"
#include "runner/cli/commands.h"
#include "runner/run/import_results.h"

namespace compat::cli {

using config::Setting;

namespace {

Action add_import(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::ImportRequest>();
    app.add_option("FILE", request->files, "files, folders, or - for stdin")->required();
    app.add_option("--suite", request->suite, "suite that the results belong to")
        ->type_name("NAME")
        ->capture_default_str();
    app.add_option("--dialect", request->dialect,
                   fmt::format("format of the files: {} [detected]",
                               fmt::join(parsers::kDialectNames, ", ")))
        ->type_name("FORMAT");
    app.add_option("--device", request->device, "device that the tests ran on: mps, cuda, cpu")
        ->type_name("DEVICE")
        ->capture_default_str();
    app.add_option("--torch", request->torch, "version of torch that the tests ran with")
        ->type_name("VERSION");
    app.add_option("--stdin-name", request->stdin_name, "file name to record for stdin")
        ->type_name("NAME")
        ->capture_default_str();
    return exits_with_code(
        [request, &invocation] { return run::import_results(*request, invocation); });
}

}  // namespace

Command import_command() {
    return {"import results of other tools as a run",
            {Setting::results, Setting::name, Setting::root},
            "--root is used only for links in the report.\n"
            "Example:\n  runner import target/surefire-reports ci.log --suite theirs --device mps",
            add_import};
}

}  // namespace compat::cli
