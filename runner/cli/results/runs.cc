// `runner runs`: lists stored runs.
#include <algorithm>

#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/results.h"
#include "runner/display/device_lines.h"
#include "runner/display/display.h"
#include "runner/display/output.h"

namespace compat::cli {

namespace {

std::string words_of(const store::RunSummary& run) {
    std::array<long, parsers::kStateNames.size()> counts{};
    std::copy(run.states.begin(), run.states.end(), counts.begin());
    return display::format_counts(counts, run.end && run.end->complete ? "no tests" : "no result");
}

std::string duration_or_state(const std::optional<store::RunEnd>& end, const fs::path& folder) {
    if (end && end->complete)
        return format_duration(std::chrono::duration<double>(end->duration_s));
    return archive::RunLock::is_held(folder) ? "running" : "interrupted";
}

void print_stored(const store::RunSummary& run, const fs::path& results) {
    print("{}  {}  {}  {}  {}  {}  ({})\n", run.id, iso8601(run.started),
          duration_or_state(run.end, results / run.folder), counted(run.modules, "module"),
          words_of(run), format_size(archive::folder_bytes(results / run.folder)),
          display::describe_way(run));
}

void print_shard(const archive::ShardFolder& shard) {
    const auto record = archive::read_record(shard.folder);
    if (!record) return;
    const store::RunInfo& info = record->info;
    print("{}  {}  {}  {}  {}  shard {}  ({})\n", info.id, iso8601(info.started),
          duration_or_state(record->end, shard.folder),
          counted(static_cast<long>(record->modules.size()), "module"),
          format_size(archive::folder_bytes(shard.folder)), info.shard,
          display::describe_way(info));
}

Expected<ExitCode> list_runs(const config::Invocation& invocation) {
    const auto place = TRY(cluster::place_of({}, invocation));
    const auto& folder = place.results;
    auto shards = archive::shard_folders(folder).shards;
    if (shards.empty() || archive::has_database(folder)) {
        const auto results = TRY(open_existing(folder));
        const auto runs = TRY(results.store.runs());
        for (const auto& run : runs) {
            print_stored(run, results.folder);
            // Older runners stored shards in the database.
            std::erase_if(shards, [&](const auto& shard) { return shard.info.id == run.id; });
        }
    }
    for (const auto& shard : shards) print_shard(shard);
    if (!shards.empty()) print("`runner merge FOLDER...` makes one run of all shards\n");
    return ExitCode::ok;
}

Action add_runs(CLI::App& /*app*/, config::Invocation& invocation) {
    return exits_with_code([&invocation] { return list_runs(invocation); });
}

}  // namespace

Command runs_command() {
    return {"list stored runs, newest first", {Setting::results}, {}, add_runs};
}

}  // namespace compat::cli
