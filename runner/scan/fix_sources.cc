#include "runner/scan/fix_sources.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/base/files/fs.h"
#include "runner/prepare/tool.h"
#include "runner/run/ready.h"

namespace compat::scan {

using config::Setting;

namespace {

constexpr int kFixFormat = 2;  // runner/harness/scan/__main__.py

Expected<FixResult> parse_fix_result(const std::string& output) {
    try {
        const auto json = nlohmann::json::parse(output);
        if (json.at("format") != kFixFormat)
            return fail(ErrorKind::environment,
                        "the patch is of a format that this runner does not know");
        if (json.contains("error"))
            return fail(ErrorKind::usage,
                        fmt::format("scan --fix: {}", json["error"].get<std::string>()));
        FixResult result;
        result.patch = json.at("patch");
        result.own_cuda = json.at("own_cuda");
        result.conflict = json.at("conflict");
        result.changes = json.at("changes");
        result.files = json.at("files");
        for (const auto& file : json.at("skipped")) {
            const int line = file.at("line");
            result.skipped.push_back(fmt::format("{}{}: {}", file.at("file").get<std::string>(),
                                                 line > 0 ? fmt::format(":{}", line) : "",
                                                 file.at("reason").get<std::string>()));
        }
        return result;
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorKind::environment,
                    fmt::format("the program that makes the patch printed something else: {}",
                                error.what()));
    }
}

}  // namespace

Expected<FixResult> fix_sources(const FixRequest& request, const config::Settings& settings,
                                const prepare::Share& share, const prepare::Say& say) {
    const fs::path scanner = share.harness / "scan";
    const auto python = TRY(
        prepare::tool_python("scan", scanner / "requirements.txt", run::prepare_options(settings),
                             prepare::Cache(settings.text(Setting::cache)), say));
    prepare::Tool tool{{python.string(), "-I", scanner.string(), "--fix", request.torch}};
    if (request.write) tool.argv.emplace_back("--write");
    if (!request.device.empty()) tool.argv.push_back("--device=" + request.device);
    tool.argv.emplace_back("--");
    tool.argv.insert(tool.argv.end(), request.paths.begin(), request.paths.end());
    return prepare::output_of(tool).and_then(parse_fix_result);
}

}  // namespace compat::scan
