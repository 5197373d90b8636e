#include "runner/archive/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "runner/archive/run_record.h"

namespace compat::archive {

namespace fs = std::filesystem;

ShardFolders shard_folders(const fs::path& results) {
    ShardFolders found;
    std::error_code error;
    for (fs::directory_iterator at(results / "runs", error), end; !error && at != end;
         at.increment(error)) {
        if (!has_record(at->path())) continue;
        auto info = read_run_info(at->path());
        if (!info)
            found.errors.push_back(info.error());
        else if (!info->shard.empty())
            found.shards.push_back({at->path(), std::move(*info)});
    }
    if (error)
        found.errors.push_back({ErrorKind::io,
                                "cannot list the runs: " + error.message(),
                                {},
                                (results / "runs").string()});
    std::sort(found.shards.begin(), found.shards.end(),
              [](const ShardFolder& a, const ShardFolder& b) {
                  return std::tie(a.info.started, a.info.id) > std::tie(b.info.started, b.info.id);
              });
    return found;
}

Expected<ShardFolder> find_shard(const fs::path& results, std::string_view name) {
    auto shards = shard_folders(results).shards;
    std::erase_if(shards,
                  [](const auto& shard) { return shard.folder.filename() != shard.info.id; });
    auto names = store::Store::temporary();
    if (!names) return tl::unexpected(names.error());
    for (const auto& shard : shards)
        if (auto begun = names->begin_run(shard.info); !begun) return tl::unexpected(begun.error());
    const auto id = names->find_run(name);
    if (!id) return tl::unexpected(id.error());
    return *std::find_if(shards.begin(), shards.end(),
                         [&](const auto& shard) { return shard.info.id == *id; });
}

Expected<store::Store> load_shard(const fs::path& folder) {
    const auto record = read_record(folder);
    if (!record) return tl::unexpected(record.error());
    auto store = store::Store::temporary();
    if (!store) return store;
    const auto on_gone = [&](const store::JobResult& job) -> Expected<void> {
        return fail(
            ErrorKind::usage,
            fmt::format("the files of attempt {} at {} are gone", job.attempt, job.record.path),
            "run this shard again", folder.string());
    };
    const auto added =
        store->add_run({record->info, record->end, 0}, [&](const store::SeeModule& see) {
            return each_recorded_module(*record, folder, on_gone, see);
        });
    if (!added) return tl::unexpected(added.error());
    return store;
}

Expected<std::string> find_run(const store::Store& store, const fs::path& results,
                               std::string_view name) {
    auto id = store.find_run(name);
    if (id) return id;
    const auto shard = find_shard(results, name);
    if (!shard) return id;
    return fail(ErrorKind::usage,
                fmt::format("this run is shard {}, and no database holds it", shard->info.shard),
                "its report is in its folder; `runner merge FOLDER...` makes one run of all shards",
                shard->folder.string());
}

}  // namespace compat::archive
