#include "runner/cli/scan_fix.h"

#include <fmt/format.h>

#include <string_view>

#include "runner/base/files.h"
#include "runner/base/files/fs.h"
#include "runner/base/text.h"
#include "runner/display/output.h"

namespace compat::cli {

namespace {

std::string describe_fixes(const scan::FixResult& fixed, bool written, const std::string& patch) {
    return fmt::format("{} in {}{}", counted(fixed.changes, "change"), counted(fixed.files, "file"),
                       written          ? ", written"
                       : !patch.empty() ? "; patch: " + patch
                                        : "; nothing is written: --write does, or `git apply`");
}

}  // namespace

Expected<ExitCode> fix_sources(const scan::FixRequest& request, const std::string& patch,
                               const config::Settings& settings, const prepare::Share& share) {
    const auto say = [](std::string_view line) {
        display::print(stderr, "runner: {}\n", printable(line));
    };
    if (request.torch.empty())
        return fail(ErrorKind::usage, "scan --fix: the version of torch is unknown",
                    "name the code's environment with --python, or a version with --torch");
    const auto fixed = TRY(scan::fix_sources(request, settings, share, say));
    if (!patch.empty()) {
        TRY(write_file(fs::absolute(patch), fixed.patch));
    } else if (!request.write) {
        display::put(stdout, fixed.patch);
    }
    for (const std::string& line : fixed.skipped) say("skipped " + line);
    if (fixed.own_cuda)
        say("no .cuda() is replaced: a class of this code has a .cuda() of its own");
    say(describe_fixes(fixed, request.write, patch));
    return fixed.conflict ? ExitCode::unexpected_results : ExitCode::ok;
}

}  // namespace compat::cli
