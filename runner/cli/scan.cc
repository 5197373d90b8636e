// `runner scan`: lists what Python code uses CUDA for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/scan_fix.h"
#include "runner/display/output.h"
#include "runner/display/scan/scan_json.h"
#include "runner/display/scan/scan_report.h"
#include "runner/prepare/share.h"
#include "runner/scan/scan_sources.h"

namespace compat::cli {

namespace {

struct ScanRequest {
    std::vector<std::string> paths;
    std::string torch;  // version; empty: that of --python
    std::string json;   // a file; empty: none
    std::vector<std::string> records;
    std::string patch;   // a file; empty: none
    std::string device;  // for --fix; empty: its own
    bool all = false;
    bool check = false;
    bool fix = false;
    bool write = false;
};

// The Python that reads the sources, and the version of torch that replacements are for.
Expected<scan::Sources> sources_of(const ScanRequest& request, const config::Settings& settings,
                                  const prepare::Share& share) {
    const std::string given = settings.text(Setting::python);
    if (given.empty())
        return scan::Sources{request.paths, settings.text(Setting::base_python), request.torch};
    return prepare::probe(given, share).map([&](const prepare::Environment& environment) {
        return scan::Sources{request.paths, environment.python,
                            request.torch.empty() ? environment.torch_version : request.torch};
    });
}

Expected<void> check_request(const ScanRequest& request) {
    for (const std::string& path : request.paths) {
        std::error_code error;
        if (!fs::exists(path, error))
            return fail(ErrorKind::usage, fmt::format("scan: no such file or folder: {}", path));
    }
    for (const std::string& record : request.records) {
        std::error_code error;
        if (!fs::is_regular_file(record, error))
            return fail(ErrorKind::usage, fmt::format("scan: no such record: {}", record));
    }
    if (!request.torch.empty() && !std::isdigit(static_cast<unsigned char>(request.torch[0])))
        return fail(ErrorKind::usage,
                    fmt::format("scan: {} is not a version of torch", request.torch),
                    "write for example --torch 2.8");
    return {};
}

// Its sites would look as if they had not run.
void warn_of_other_folder(const ScanRequest& request, const std::string& record,
                          const fs::path& folder) {
    std::vector<std::string> scanned;
    for (const std::string& path : request.paths) scanned.push_back(scan::real_path(path).string());
    print(stderr, "runner: {}\n",
          printable(fmt::format("nothing in {} is of the scanned code: its events are in {}, the "
                                "scan is of {}; scan the folder that it was recorded in",
                                record, folder.string(), fmt::join(scanned, ", "))));
}

Expected<ExitCode> scan_or_fix(const ScanRequest& request, const config::Invocation& invocation) {
    TRY(check_request(request));
    const auto share = TRY(prepare::find_share());
    config::Invocation own = invocation;
    if (request.fix && request.torch.empty()) own.project = scan::project_above(request.paths);
    const auto settings = TRY(config::Settings::resolve(own, nullptr));
    const auto sources = TRY(sources_of(request, settings, share));
    if (request.fix)
        return fix_sources({request.paths, sources.torch, request.write, request.device},
                           request.patch, settings, share);
    auto scan = scan::scan_sources(sources, share);
    if (!scan) return tl::unexpected(scan.error());
    if (!request.records.empty()) {
        scan::RecordsOfScan records(request.paths, *scan);
        for (const std::string& record : request.records) {
            const auto elsewhere = TRY(records.read(record));
            if (!elsewhere.empty()) warn_of_other_folder(request, record, elsewhere);
        }
        records.mark(*scan);
    }
    if (!request.json.empty())
        TRY(write_file(fs::absolute(request.json), display::cuda_scan_json(*scan)));
    print("{}", display::scan_report(*scan, request.all));
    const bool has_work =
        !scan->unread.empty() ||
        std::any_of(scan->sites.begin(), scan->sites.end(), [&](const analysis::CudaSite& site) {
            return analysis::is_to_change(*scan, site);
        });
    return request.check && has_work ? ExitCode::unexpected_results : ExitCode::ok;
}

Action add_scan(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ScanRequest>();
    app.add_option("PATH", request->paths, "Python files, and folders of them")->required();
    app.add_flag("--all", request->all, "print all sites, not ten of each group");
    auto* check =
        app.add_flag("--check", request->check,
                     "exit with 1 if a site is to be changed or a file cannot be scanned");
    auto* fix = app.add_flag("--fix", request->fix, "print a patch of the safe replacements")
                    ->excludes(check);
    auto* patch = app.add_option("--patch", request->patch, "with --fix: write the patch to FILE")
                      ->type_name("FILE")
                      ->needs(fix);
    app.add_flag("--write", request->write, "with --fix: change the files")
        ->needs(fix)
        ->excludes(patch);
    app.add_option("--device", request->device,
                   "with --fix: write EXPRESSION for a device, such as a name of your own")
        ->type_name("EXPRESSION")
        ->needs(fix);
    app.add_option("--json", request->json, "also write all sites to FILE")->type_name("FILE");
    app.add_option("--record", request->records,
                   "mark what ran by a record of `runner exec --record`; repeatable")
        ->type_name("FILE")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--torch", request->torch,
                   "offer only what this version of torch has [that of --python, with --fix that "
                   "of the project; else any]")
        ->type_name("VERSION");
    return exits_with_code([request, &invocation] { return scan_or_fix(*request, invocation); });
}

}  // namespace

Command scan_command() {
    return {"find CUDA-specific code and suggest portable replacements",
            {Setting::python},
            "Reads the sources and runs nothing. Only --fix --write changes the sources. The\n"
            "comment `# noqa: CUDA001` in the line of a site suppresses it.\n"
            "Examples:\n"
            "  runner scan src train.py\n"
            "  runner scan . --python .venv/bin/python --json cuda.json\n"
            "  runner exec --record train.jsonl -- python train.py\n"
            "  runner scan . --record train.jsonl\n"
            "  runner scan . --fix --patch neutral.patch\n"
            "  runner scan . --check",
            add_scan};
}

}  // namespace compat::cli
