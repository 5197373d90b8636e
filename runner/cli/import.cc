// `runner import`: stores results of other tools as a run.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "parsers/import/importers.h"
#include "runner/cli/commands.h"
#include "runner/run/import_results.h"

namespace compat::cli {

using config::Setting;

namespace {

std::string names_a_job(const std::string& text) {
    const std::size_t equals = text.find('=');
    return equals == 0 || equals == text.npos || equals + 1 == text.size()
               ? fmt::format("{} is not NAME=PATH, such as py312=artifacts/py312", text)
               : "";
}

Action add_import(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<run::ImportRequest>();
    app.add_option_function<std::vector<std::string>>(
        "FILE",
        [request](const std::vector<std::string>& names) {
            for (const std::string& name : names) request->files.push_back({name, {}});
        },
        "files, folders, or - for stdin");
    app.add_option_function<std::vector<std::string>>(
           "--job",
           [request](const std::vector<std::string>& given) {
               for (const std::string& job : given) {
                   const std::size_t equals = job.find('=');
                   request->files.push_back({job.substr(equals + 1), job.substr(0, equals)});
               }
           },
           "a file or folder, and the job that it is of (repeatable)")
        ->type_name("NAME=PATH")
        ->allow_extra_args(false)
        ->check(CLI::Validator(names_a_job, {}));
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
    return exits_with_code([request, &invocation]() -> Expected<ExitCode> {
        if (request->files.empty())
            return fail(ErrorKind::usage, "no file is named",
                        "name files or folders, or say --job NAME=PATH");
        return run::import_results(*request, invocation);
    });
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
