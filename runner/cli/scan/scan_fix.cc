#include "runner/cli/scan/scan_fix.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/base/files.h"
#include "runner/base/text.h"
#include "runner/display/columns.h"
#include "runner/display/output.h"
#include "runner/exec/signals.h"
#include "runner/run/scan/fix_sources.h"
#include "runner/run/scan/verify_fixes.h"

namespace compat::cli {

namespace fs = std::filesystem;
using display::print;
using run::FixResult;
using run::Replacement;
using run::VerifyResult;

namespace {

// Tests that are named for each dropped replacement.
constexpr size_t kTestsNamed = 3;

void say(std::string_view line) { print(stderr, "runner: {}\n", printable(line)); }

std::string replacement_words(const Replacement& change) {
    return fmt::format("{}:{}  {} -> {}", change.file, change.line, change.symbol, change.write);
}

Expected<void> put_patch(const FixRequest& request, const std::string& patch) {
    if (!request.patch.empty()) return write_file(fs::absolute(request.patch), patch);
    if (!request.write) display::put(stdout, patch);
    return {};
}

void print_notes(const FixResult& fixed) {
    for (const std::string& line : fixed.skipped) say("skipped " + line);
    if (fixed.own_cuda)
        say("no .cuda() is replaced: a class of this code has a .cuda() of its own");
}

std::string outcome_words(const FixRequest& request, const FixResult& fixed) {
    return fmt::format("{} in {}{}", counted(static_cast<long>(fixed.changes.size()), "change"),
                       counted(fixed.files(), "file"),
                       request.write            ? ", written"
                       : !request.patch.empty() ? fmt::format("; patch: {}", request.patch)
                                                : "; nothing is written: --write does, or `git "
                                                  "apply`");
}

void print_dropped(const run::DroppedReplacement& dropped) {
    say("dropped " + replacement_words(dropped.change));
    for (size_t i = 0; i < std::min(kTestsNamed, dropped.broken.size()); ++i) {
        const run::BrokenTest& test = dropped.broken[i];
        print(stderr, "    breaks {} ({}, {})\n", printable(test.id), test.column, test.state);
        if (!test.key_line.empty())
            print(stderr, "        {}{}\n", test.place.empty() ? "" : printable(test.place) + ": ",
                  display::cut_to(printable(test.key_line), 160));
    }
    if (dropped.broken.size() > kTestsNamed)
        print(stderr, "    … and {} more\n",
              counted(static_cast<long>(dropped.broken.size() - kTestsNamed), "test"));
}

void print_verified(const VerifyResult& verified) {
    for (const auto& dropped : verified.dropped) print_dropped(dropped);
    for (const Replacement& change : verified.undecided)
        say("left out, there was no time to verify it: " + replacement_words(change));
    for (const auto& [module, why] : verified.unloadable)
        say(fmt::format("not loaded, so that its tests verify nothing: {}: {}", module,
                        display::cut_to(why, 160)));
    for (const std::string& test : verified.unsteady)
        say(fmt::format("{} failed, and passed again with the same replacements: not counted",
                        test));
    for (const std::string& file : verified.not_loaded)
        say(fmt::format("no test imports {}: its replacements are not tested", file));
}

}  // namespace

Expected<ExitCode> fix_sources(const FixRequest& request, const config::Settings& settings,
                               const prepare::Share& share) {
    if (request.torch.empty())
        return fail(ErrorKind::usage, "scan --fix: the version of torch is unknown",
                    "name the code's environment with --python, or a version with --torch");
    const auto fixed = run::Fixer::create(settings, share, say).and_then([&](const auto& fixer) {
        return fixer.fix(request.paths, {request.torch, request.write, nullptr, request.device});
    });
    if (!fixed) return tl::unexpected(fixed.error());
    if (const auto put = put_patch(request, fixed->patch); !put) return tl::unexpected(put.error());
    print_notes(*fixed);
    say(outcome_words(request, *fixed));
    return fixed->conflict ? ExitCode::unexpected_results : ExitCode::ok;
}

Expected<ExitCode> verify_and_fix(const FixRequest& request, const config::Invocation& invocation,
                                  const prepare::Share& share) {
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());
    const auto project = run::find_tested_project(request.project, request.paths, invocation, say);
    if (!project) return tl::unexpected(project.error());
    const std::string torch = request.torch.empty() ? project->torch : request.torch;
    const auto fixer = run::Fixer::create(*settings, share, say);
    if (!fixer) return tl::unexpected(fixer.error());
    const auto verified =
        run::verify_fixes(*project, request.paths, torch, request.limit, *fixer, invocation, say);
    // An error while a signal is pending is a tool's that the signal ended.
    if (exec::is_termination_pending() || (verified && verified->interrupted)) {
        say("interrupted: nothing is written");
        return ExitCode::interrupted;
    }
    if (!verified) return tl::unexpected(verified.error());
    const auto fixed = fixer->fix(request.paths, {torch, request.write, &verified->kept});
    if (!fixed) return tl::unexpected(fixed.error());
    if (const auto put = put_patch(request, fixed->patch); !put) return tl::unexpected(put.error());
    print_notes(*fixed);
    print_verified(*verified);
    std::string words;
    for (const auto& column : verified->columns)
        words += fmt::format("{}{} of {} on {}", words.empty() ? "" : ", ", column.passed,
                             counted(column.tests, "test"), column.words);
    if (!words.empty()) say("passed before, and with the changes: " + words);
    say(fmt::format("{}; {} dropped, {} not verified", outcome_words(request, *fixed),
                    verified->dropped.size(), verified->undecided.size()));
    const bool all_written = fixed->changes.size() == verified->kept.size();
    if (!all_written)
        say(fmt::format("{} verified together, but only {} made: run the tests again",
                        counted(static_cast<long>(verified->kept.size()), "replacement"),
                        fixed->changes.size()));
    const bool whole = all_written && verified->dropped.empty() && verified->undecided.empty();
    return whole ? ExitCode::ok : ExitCode::unexpected_results;
}

}  // namespace compat::cli
