// `runner prune`: deletes old runs.
#include "runner/archive/prune.h"

#include "runner/archive/results.h"
#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/checks.h"
#include "runner/display/output.h"
#include "runner/run/prune_runs.h"

namespace compat::cli {

namespace {

constexpr std::int64_t kMostDays = 36'500;

struct PruneRequest {
    std::optional<std::int64_t> keep, days;
    std::string series;
    bool dry_run = false;
};

Expected<ExitCode> prune(const PruneRequest& request, const config::Invocation& invocation) {
    if (!request.keep && !request.days)
        return fail(ErrorKind::usage, "--keep or --days is required",
                    "they say which runs are old; --dry-run lists what would be deleted");
    const auto results =
        TRY(config::results_folder(invocation).and_then([](const fs::path& folder) {
            return archive::existing_results(folder);
        }));
    // To look changes nothing, not even the version of an older database.
    auto store = TRY(
        request.dry_run
            ? store::Store::open(results / "runner.db", store::Store::Mode::read_only)
                  .map([](store::Store&& read) { return archive::OpenResults(std::move(read)); })
            : archive::open_results(results));
    archive::PruneRule rule{request.keep, {}, request.series};
    if (request.days) rule.before = SystemClock().wall() - std::chrono::hours(24) * *request.days;
    const auto plan = TRY(archive::plan_prune(store, results, rule));
    for (const auto& kept : plan.kept) print("kept {}: {}\n", kept.id, kept.why);
    if (!request.dry_run)
        return run::delete_runs(store, results, plan.runs).map([] { return ExitCode::ok; });
    std::uint64_t bytes = 0;
    for (const auto& run : plan.runs) {
        run::print_run_to_delete(run, "would delete");
        bytes += run.bytes;
    }
    print("{} would be deleted, {} of files\n", counted(static_cast<long>(plan.runs.size()), "run"),
          format_size(bytes));
    return ExitCode::ok;
}

Action add_prune(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<PruneRequest>();
    auto* keep =
        app.add_option("--keep", request->keep, "keep the newest N runs of each series and device")
            ->type_name("N")
            ->check(in_range(0, std::int64_t{1} << 40));
    app.add_option("--days", request->days, "delete runs that began more than D days ago")
        ->type_name("D")
        ->check(in_range(0, kMostDays))
        ->excludes(keep);
    app.add_option("--series", request->series, "only runs of this series")->type_name("NAME");
    app.add_flag("--dry-run", request->dry_run, "list what would be deleted");
    return exits_with_code([request, &invocation] { return prune(*request, invocation); });
}

}  // namespace

Command prune_command() {
    return {"delete old runs: results and files",
            {Setting::results},
            "Running runs and the last complete run of each series, device and settings\n"
            "stay. The gap log stays, too.\n"
            "Example:\n  runner prune --keep 30 --dry-run",
            add_prune};
}

}  // namespace compat::cli
