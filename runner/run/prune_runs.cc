#include "runner/run/prune_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "runner/archive/run_folder.h"
#include "runner/base/clock.h"
#include "runner/base/text.h"
#include "runner/display/output.h"
#include "runner/run/database_wait.h"
#include "runner/store/pruning.h"

namespace compat::run {

using display::print;

namespace {

// Less than this part of the database is left for rows to come.
constexpr std::int64_t kFreePart = 10;

// VACUUM and not SQLite's incremental one: that would have to be chosen when the database is made,
// and moves pages at every deletion without putting rows in order.
Expected<void> shrink_database(store::Store& store, const fs::path& results) {
    const auto before = TRY(store::space_of(store));
    if (before.free_bytes * kFreePart < before.bytes) return {};
    const auto runs = TRY(store.runs());
    const std::string left =
        fmt::format("{} of the database are free for later runs",
                    format_size(static_cast<std::uint64_t>(before.free_bytes)));
    const auto going = std::find_if(runs.begin(), runs.end(), [&](const auto& run) {
        return !(run.end && run.end->complete) && archive::RunLock::is_held(results / run.folder);
    });
    if (going != runs.end()) {
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
        print("database: {}, was {}\n", format_size(static_cast<std::uint64_t>(after.bytes)),
              format_size(static_cast<std::uint64_t>(before.bytes)));
    });
}

}  // namespace

void print_run_to_delete(const archive::RunToDelete& run, std::string_view what) {
    print("{} {}  {}  {}\n", what, run.run.id, iso8601(run.run.started), format_size(run.bytes));
    for (const std::string& note : run.notes) print("    note: {}\n", note);
}

Expected<void> delete_runs(archive::OpenResults& store, const fs::path& results,
                           const std::vector<archive::RunToDelete>& runs) {
    TRY(archive::tidy_results(store, results));
    std::uint64_t bytes = 0;
    for (const auto& run : runs) {
        TRY(retry_while_busy(store, [&] { return archive::delete_run(store, results, run.run); }));
        print_run_to_delete(run, "deleted");
        bytes += run.bytes;
    }
    TRY(archive::tidy_results(store, results));
    print("{} deleted, {} of files freed\n", counted(static_cast<long>(runs.size()), "run"),
          format_size(bytes));
    return retry_while_busy(store, [&] { return store::delete_unused(store); }).and_then([&] {
        return shrink_database(store, results);
    });
}

}  // namespace compat::run
