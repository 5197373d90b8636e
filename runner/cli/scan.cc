// `runner scan`: lists what Python code uses CUDA for.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "runner/analysis/scan_record.h"
#include "runner/archive/attempt_files.h"
#include "runner/base/files.h"
#include "runner/cli/commands.h"
#include "runner/cli/scan_fix.h"
#include "runner/display/output.h"
#include "runner/display/scan_json.h"
#include "runner/display/scan_report.h"
#include "runner/prepare/share.h"
#include "runner/prepare/tool.h"

namespace compat::cli {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

struct ScanRequest {
    std::vector<std::string> paths;
    std::string torch;  // version; empty: that of --python
    std::string json;   // a file; empty: none
    std::vector<std::string> records;
    std::string patch;  // a file; empty: none
    bool all = false;
    bool check = false;
    bool fix = false;
    bool write = false;
};

// The Python that reads the sources, and the version of torch that replacements are for.
struct Scanner {
    std::string python;
    std::string torch;
};

Expected<Scanner> scanner_for(const ScanRequest& request, const config::Invocation& invocation,
                              const prepare::Share& share) {
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());
    const std::string given = settings->text(Setting::python);
    if (given.empty()) return Scanner{settings->text(Setting::base_python), request.torch};
    return prepare::probe(given, share).map([&](const prepare::Environment& environment) {
        return Scanner{environment.python,
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

Expected<analysis::CudaScan> scan_paths(const ScanRequest& request, const Scanner& scanner,
                                        const prepare::Share& share) {
    prepare::Tool tool{{scanner.python, "-I", (share.harness / "scan").string()}};
    tool.argv.insert(tool.argv.end(), request.paths.begin(), request.paths.end());
    const auto output = prepare::output_of(tool);
    if (!output) return tl::unexpected(output.error());
    auto scan = analysis::parse_cuda_scan(*output);
    if (!scan) return scan;
    if (scan->files == 0 && scan->unread.empty())
        return fail(ErrorKind::usage, "scan: there are no Python files under these paths",
                    "hidden folders, virtual environments and __pycache__ are skipped");
    if (!scanner.torch.empty()) analysis::limit_to_torch(*scan, scanner.torch);
    return scan;
}

fs::path canonical(const fs::path& path) {
    std::error_code error;
    auto real = fs::weakly_canonical(fs::absolute(path, error), error);
    return error ? path : real;
}

// Names files as a scan of `paths` does; nothing for a file outside them.
class ScannedNames {
  public:
    ScannedNames(const std::vector<std::string>& paths, const analysis::CudaScan& scan) {
        for (const std::string& path : paths) folders_.emplace_back(canonical(path), path);
        for (const auto& site : scan.sites) names_.emplace(canonical(site.file), site.file);
    }
    std::optional<std::string> of(const std::string& file) {
        const fs::path real = canonical(file);
        if (const auto known = names_.find(real); known != names_.end()) return known->second;
        for (const auto& [folder, given] : folders_) {
            const fs::path below = real.lexically_relative(folder);
            if (below.empty() || *below.begin() == "..") continue;
            const auto name = below == "." ? fs::path(given) : fs::path(given) / below;
            return names_.emplace(real, name.lexically_normal().string()).first->second;
        }
        return std::nullopt;
    }

  private:
    std::vector<std::pair<fs::path, std::string>> folders_;
    std::map<fs::path, std::string> names_;
};

// Adds the events of the records that are in scanned files.
Expected<void> add_records(const ScanRequest& request, analysis::CudaScan& scan) {
    ScannedNames names(request.paths, scan);
    using Line = std::tuple<std::string, int, std::string, std::string, std::string, std::string>;
    std::map<Line, std::int64_t> counts;
    bool redirected = true;
    for (const std::string& record : request.records) {
        const auto read = parsers::parse_devices(
            archive::lines_of(record, std::numeric_limits<std::uint64_t>::max()),
            [&](const parsers::DeviceEvent& event) {
                const auto name = names.of(event.location.file);
                if (event.location.file.empty() || !name) return;
                counts[{*name, event.location.line, event.kind, event.op, event.from, event.to}] +=
                    event.count;
            });
        if (!read.shim)
            return fail(ErrorKind::usage, "scan: this file is not a device record",
                        "`runner exec --record FILE` writes one", record);
        // A host or a simulation with CUDA redirects nothing.
        redirected = redirected && !read.shim->torch.empty() && read.shim->mode != "none" &&
                     read.shim->host != "cuda" && read.shim->simulated != "cuda";
    }
    std::vector<analysis::RanEvent> events;
    for (const auto& [line, count] : counts) {
        const auto& [file, number, kind, op, from, to] = line;
        events.push_back({file, number, kind, op, from, to, count});
    }
    analysis::add_record(scan, events, redirected);
    return {};
}

Expected<ExitCode> scan_sources(const ScanRequest& request, const config::Invocation& invocation) {
    if (const auto ok = check_request(request); !ok) return tl::unexpected(ok.error());
    const auto share = prepare::find_share();
    if (!share) return tl::unexpected(share.error());
    const auto scanner = scanner_for(request, invocation, *share);
    if (!scanner) return tl::unexpected(scanner.error());
    if (request.fix) {
        const auto settings = config::Settings::resolve(invocation, nullptr);
        if (!settings) return tl::unexpected(settings.error());
        return fix_sources({request.paths, scanner->torch, request.patch, request.write}, *settings,
                           *share);
    }
    auto scan = scan_paths(request, *scanner, *share);
    if (!scan) return tl::unexpected(scan.error());
    if (!request.records.empty())
        if (const auto added = add_records(request, *scan); !added)
            return tl::unexpected(added.error());
    if (!request.json.empty())
        if (const auto written =
                write_file(fs::absolute(request.json), display::cuda_scan_json(*scan));
            !written)
            return tl::unexpected(written.error());
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
    auto* fix = app.add_flag("--fix", request->fix,
                             "print a patch with the replacements that fit by themselves")
                    ->excludes(check);
    auto* patch = app.add_option("--patch", request->patch, "with --fix: write the patch to FILE")
                      ->type_name("FILE")
                      ->needs(fix);
    app.add_flag("--write", request->write, "with --fix: change the files")
        ->needs(fix)
        ->excludes(patch);
    app.add_option("--json", request->json, "also write all sites to FILE")->type_name("FILE");
    app.add_option("--record", request->records,
                   "mark what ran by a record of `runner exec --record`; repeatable")
        ->type_name("FILE")
        ->take_all()
        ->allow_extra_args(false);
    app.add_option("--torch", request->torch,
                   "offer only what this version of torch has [that of --python, else any]")
        ->type_name("VERSION");
    return exits_with_code([request, &invocation] { return scan_sources(*request, invocation); });
}

}  // namespace

Command scan_command() {
    return {"list what Python code uses CUDA for, and what to write instead",
            {Setting::python},
            "Reads the sources and runs nothing; only --fix --write changes them. The comment\n"
            "`# noqa: CUDA001` in the line of a site suppresses it.\n"
            "Examples:\n"
            "  runner scan src train.py\n"
            "  runner scan . --python .venv/bin/python --json cuda.json\n"
            "  runner exec --record train.jsonl -- python train.py\n"
            "  runner scan . --record train.jsonl\n"
            "  runner scan . --fix --python .venv/bin/python --patch neutral.patch\n"
            "  runner scan . --check",
            add_scan};
}

}  // namespace compat::cli
