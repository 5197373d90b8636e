// `runner prune`: deletes old runs.
#include "runner/archive/prune.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/archive/results.h"
#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/display/output.h"
#include "runner/run/database_wait.h"
#include "runner/store/pruning.h"

namespace compat::cli {

namespace fs = std::filesystem;
using config::Setting;
using display::print;

namespace {

constexpr std::int64_t kMostDays = 36'500;
// Less than this part of the database is left for rows to come.
constexpr std::int64_t kFreePart = 10;

struct PruneRequest {
    std::optional<std::int64_t> keep, days;
    std::string series;
    bool dry_run = false;
};

void print_run(const archive::RunToDelete& run, std::string_view what) {
    print("{} {}  {}  {}\n", what, run.run.id, iso8601(run.run.started), size_words(run.bytes));
    for (const std::string& note : run.notes) print("    note: {}\n", note);
}

// VACUUM and not SQLite's incremental one: that would have to be chosen when the database is made,
// and moves pages at every deletion without putting rows in order.
Expected<void> shrink_database(store::Store& store, const fs::path& results) {
    const auto before = store::space_of(store);
    if (!before) return tl::unexpected(before.error());
    if (before->free_bytes * kFreePart < before->bytes) return {};
    const auto runs = store.runs();
    if (!runs) return tl::unexpected(runs.error());
    const std::string left =
        fmt::format("{} of the database are free for later runs",
                    size_words(static_cast<std::uint64_t>(before->free_bytes)));
    const auto going = std::find_if(runs->begin(), runs->end(), [&](const auto& run) {
        return !(run.end && run.end->complete) && archive::RunLock::is_held(results / run.folder);
    });
    if (going != runs->end()) {
        print("{}: {} is running, so the file does not shrink now\n", left, going->id);
        return {};
    }
    const auto shrunk = store::shrink(store);
    if (!shrunk && shrunk.error().kind == ErrorKind::busy) {
        print("{}: another command uses it, so the file does not shrink now\n", left);
        return {};
    }
    if (!shrunk) return shrunk;
    return store::space_of(store).map([&](const store::DatabaseSpace& after) {
        print("database: {}, was {}\n", size_words(static_cast<std::uint64_t>(after.bytes)),
              size_words(static_cast<std::uint64_t>(before->bytes)));
    });
}

Expected<void> delete_runs(archive::OpenResults& store, const fs::path& results,
                           const std::vector<archive::RunToDelete>& runs) {
    if (auto tidied = archive::tidy_results(store, results); !tidied) return tidied;
    std::uint64_t bytes = 0;
    for (const auto& run : runs) {
        const auto deleted = run::retry_while_busy(
            store, [&] { return archive::delete_run(store, results, run.run); });
        if (!deleted) return deleted;
        print_run(run, "deleted");
        bytes += run.bytes;
    }
    if (auto tidied = archive::tidy_results(store, results); !tidied) return tidied;
    print("{} deleted, {} of files freed\n", counted(static_cast<long>(runs.size()), "run"),
          size_words(bytes));
    return run::retry_while_busy(store, [&] { return store::delete_unused(store); }).and_then([&] {
        return shrink_database(store, results);
    });
}

Expected<ExitCode> prune(const PruneRequest& request, const config::Invocation& invocation) {
    if (!request.keep && !request.days)
        return fail(ErrorKind::usage, "--keep or --days is required",
                    "they say which runs are old; --dry-run lists what would be deleted");
    const auto results = config::results_folder(invocation).and_then([](const fs::path& folder) {
        return archive::existing_results(folder);
    });
    if (!results) return tl::unexpected(results.error());
    auto store = archive::open_results(*results);
    if (!store) return tl::unexpected(store.error());
    archive::PruneRule rule{request.keep, {}, request.series};
    if (request.days) rule.before = SystemClock().wall() - std::chrono::hours(24) * *request.days;
    const auto plan = archive::plan_prune(*store, *results, rule);
    if (!plan) return tl::unexpected(plan.error());
    for (const auto& kept : plan->kept) print("kept {}: {}\n", kept.id, kept.why);
    if (!request.dry_run)
        return delete_runs(*store, *results, plan->runs).map([] { return ExitCode::ok; });
    std::uint64_t bytes = 0;
    for (const auto& run : plan->runs) {
        print_run(run, "would delete");
        bytes += run.bytes;
    }
    print("{} would be deleted, {} of files\n",
          counted(static_cast<long>(plan->runs.size()), "run"), size_words(bytes));
    return ExitCode::ok;
}

Action add_prune(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<PruneRequest>();
    auto* keep =
        app.add_option("--keep", request->keep, "keep the newest N runs of each series and device")
            ->type_name("N")
            ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40));
    app.add_option("--days", request->days, "delete runs that began more than D days ago")
        ->type_name("D")
        ->check(CLI::Range(std::int64_t{0}, kMostDays))
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
