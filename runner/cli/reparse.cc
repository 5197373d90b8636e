// `runner reparse`: re-parses a run's files, or rebuilds the database from all runs' files.
#include "runner/archive/reparse.h"

#include <fmt/format.h>

#include "runner/archive/rebuild.h"
#include "runner/archive/results.h"
#include "runner/archive/shards.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/display/output.h"
#include "runner/run/reporting/reporting.h"

namespace compat::cli {

namespace {

struct ReparseRequest {
    std::string run = "latest";
    bool apply = false;  // store the new results
    bool all = false;    // rebuild the database
};

std::string_view word(const std::optional<parsers::State>& state) {
    return state ? name_of(*state) : std::string_view("absent");
}

void print_difference(const analysis::Difference& difference, int attempt) {
    print("{}{}: {} stored, {} re-parsed\n", printable(difference.test),
          attempt > 1 ? fmt::format(" (attempt {})", attempt) : "", word(difference.before),
          word(difference.after));
}

void print_counts(const archive::ReparseCounts& counts) {
    if (counts.other_causes > 0)
        print("{} with another cause\n", counted(counts.other_causes, "failure"));
    if (counts.unread > 0)
        print("{} not re-parsed: their files are gone or an older runner stored them\n",
              counted(counts.unread, "attempt"));
    print("{} in {}: {} differ\n", counted(counts.tests, "test"),
          counted(counts.attempts, "attempt"), counts.differ);
}

Expected<ExitCode> reparse_run(const ReparseRequest& request,
                               const config::Invocation& invocation) {
    const auto results =
        TRY(config::results_folder(invocation).and_then(archive::existing_results));
    const auto store = TRY(archive::open_results(results));
    const auto id = TRY(archive::find_run(store, results, request.run));
    const auto run = store.load_run(id);
    if (!run) return tl::unexpected(run.error());
    if (request.apply && !run->end)
        return fail(ErrorKind::usage, "this run is not complete", "`runner resume` continues it",
                    id);
    const auto counts = TRY(archive::reparse(store, results, *run, print_difference));
    print_counts(counts);
    if (request.apply) {
        TRY(archive::apply_reparse(results, *run).and_then([&] {
            return run::write_reports(store, results, id, {});
        }));
        print("stored the new results and rewrote the reports\n");
    }
    return counts.differ > 0 ? ExitCode::unexpected_results : ExitCode::ok;
}

Expected<ExitCode> rebuild_database(const config::Invocation& invocation) {
    const auto results = TRY(config::results_folder(invocation));
    const auto rebuilt = TRY(archive::rebuild(results, [](bool kept) {
        print(stderr, "runner: interrupted: {}\n",
              kept ? "the database was rebuilt" : "nothing was stored");
    }));
    print("{} rebuilt from the folders under {}\n", counted(rebuilt.runs_from_folders, "run"),
          (results / "runs").string());
    if (rebuilt.runs_from_old > 0)
        print("{} taken from the old database\n", counted(rebuilt.runs_from_old, "run"));
    if (rebuilt.gaps_from_old > 0)
        print("{} taken from the old database\n", counted(rebuilt.gaps_from_old, "gap"));
    if (!rebuilt.old_database.empty())
        print("the old database is kept as {}\n", rebuilt.old_database.string());
    for (const auto& what : rebuilt.lost) print("lost: {}\n", printable(what));
    return rebuilt.lost.empty() ? ExitCode::ok : ExitCode::infrastructure;
}

Action add_reparse(CLI::App& app, config::Invocation& invocation) {
    auto request = std::make_shared<ReparseRequest>();
    auto* run = app.add_option("RUN", request->run, kRunHelp)->capture_default_str();
    auto* apply = app.add_flag("--apply", request->apply, "store the changed results");
    app.add_flag("--all", request->all, "rebuild a damaged or lost database from the run folders")
        ->excludes(run)
        ->excludes(apply);
    return exits_with_code([request, &invocation] {
        return request->all ? rebuild_database(invocation) : reparse_run(*request, invocation);
    });
}

}  // namespace

Command reparse_command() {
    return {"re-parse a run's logs and show changed results",
            {Setting::results},
            "Prints the changed results; --apply stores them.\n"
            "Example:\n  runner reparse latest --apply",
            add_reparse};
}

}  // namespace compat::cli
