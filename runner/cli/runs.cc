// `runner runs`: the stored runs.
#include <algorithm>

#include "runner/archive/run_folder.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/display/device_lines.h"
#include "runner/display/display.h"
#include "runner/display/output.h"

namespace compat::cli {

using config::Setting;
using display::print;

namespace {

std::string words_of(const store::StateCounts& states) {
    std::array<long, parsers::kStateNames.size()> counts{};
    std::copy(states.begin(), states.end(), counts.begin());
    return display::count_words(counts);
}

Expected<ExitCode> list_runs(const config::Invocation& invocation) {
    const auto results = open_existing(invocation);
    if (!results) return tl::unexpected(results.error());
    return results->store.runs().map([&](const std::vector<store::RunSummary>& runs) {
        for (const auto& run : runs) {
            const bool complete = run.end && run.end->complete;
            const std::string end =
                complete ? human(std::chrono::duration<double>(run.end->duration_s))
                : archive::RunLock::is_held(results->folder / run.folder) ? "running"
                                                                          : "interrupted";
            print("{}  {}  {}  {}  {}  ({})\n", run.id, iso8601(run.started), end,
                  counted(run.modules, "module"), words_of(run.states),
                  display::redirection_words({run.device, run.simulated, run.shim, run.policy,
                                              run.fallback, run.imported}));
        }
        return ExitCode::ok;
    });
}

Action add_runs(CLI::App& /*app*/, config::Invocation& invocation) {
    return exits_with_code([&invocation] { return list_runs(invocation); });
}

}  // namespace

Command runs_command() {
    return {"list stored runs, newest first", {Setting::results}, {}, add_runs};
}

}  // namespace compat::cli
