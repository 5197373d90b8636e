#include "runner/cli/scan_fix.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/prepare/tool.h"

namespace compat::cli {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

constexpr int kFixFormat = 1;  // runner/harness/scan/__main__.py

struct Fixed {
    std::string patch;
    long files = 0;
    long changes = 0;
    bool own_cuda = false;
    std::vector<std::string> skipped;  // "file:line: reason"
};

Expected<Fixed> parse_fixed(const std::string& output) {
    try {
        const auto json = nlohmann::json::parse(output);
        if (json.at("format") != kFixFormat)
            return fail(ErrorKind::environment,
                        "the patch is of a format that this runner does not know");
        Fixed fixed{json.at("patch"),
                    static_cast<long>(json.at("files").size()),
                    json.at("changes"),
                    json.at("own_cuda"),
                    {}};
        for (const auto& file : json.at("skipped")) {
            const int line = file.at("line");
            fixed.skipped.push_back(fmt::format("{}{}: {}", file.at("file").get<std::string>(),
                                                line > 0 ? fmt::format(":{}", line) : "",
                                                file.at("reason").get<std::string>()));
        }
        return fixed;
    } catch (const nlohmann::json::exception& error) {
        return fail(ErrorKind::environment,
                    fmt::format("the program that makes the patch printed something else: {}",
                                error.what()));
    }
}

void print_summary(const FixRequest& request, const Fixed& fixed) {
    for (const std::string& line : fixed.skipped)
        print(stderr, "runner: skipped {}\n", printable(line));
    if (fixed.own_cuda)
        print(stderr,
              "runner: no .cuda() is replaced: a class of this code has a .cuda() of its own\n");
    print(stderr, "runner: {} in {}{}\n", counted(fixed.changes, "change"),
          counted(fixed.files, "file"),
          request.write            ? ", written"
          : !request.patch.empty() ? fmt::format("; patch: {}", printable(request.patch))
                                   : "; nothing is written: --write does, or `git apply`");
}

}  // namespace

Expected<ExitCode> fix_sources(const FixRequest& request, const config::Settings& settings,
                               const prepare::Share& share) {
    if (request.torch.empty())
        return fail(ErrorKind::usage, "scan --fix: the version of torch is unknown",
                    "name the code's environment with --python, or a version with --torch");
    const auto say = display::say_to(stderr);
    prepare::Options options;
    options.base_python = settings.text(Setting::base_python);
    const prepare::Cache cache(settings.text(Setting::cache));
    const fs::path scanner = share.harness / "scan";
    const auto python =
        prepare::tool_python("scan", scanner / "requirements.txt", options, cache,
                             [&](std::string_view line) { say(fmt::format("runner: {}", line)); });
    if (!python) return tl::unexpected(python.error());
    prepare::Tool tool{{python->string(), "-I", scanner.string(), "--fix", request.torch}};
    if (request.write) tool.argv.emplace_back("--write");
    tool.argv.insert(tool.argv.end(), request.paths.begin(), request.paths.end());
    const auto fixed = prepare::output_of(tool).and_then(parse_fixed);
    if (!fixed) return tl::unexpected(fixed.error());
    if (!request.patch.empty()) {
        if (const auto written = write_file(fs::absolute(request.patch), fixed->patch); !written)
            return tl::unexpected(written.error());
    } else if (!request.write) {
        print("{}", fixed->patch);
    }
    print_summary(request, *fixed);
    return ExitCode::ok;
}

}  // namespace compat::cli
