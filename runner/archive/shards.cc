#include "runner/archive/shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "runner/archive/run_folder.h"

namespace compat::archive {

namespace {

tl::unexpected<Error> lacks_attempt(const RunRecord& record, const fs::path& folder,
                                    const std::string& module, int attempt) {
    return fail(ErrorKind::usage,
                fmt::format("shard {} lacks attempt {} at {}", record.info.shard, attempt, module),
                "copy its folder again, or run this shard again", folder.string());
}

// A record from which a line was lost would make a run that lacks tests.
Expected<void> check_attempts(const RunRecord& record, const fs::path& folder,
                              const store::StoredModule& module) {
    int attempt = 0;
    for (const auto* jobs : {&module.attempts, &module.diagnostics})
        for (const auto& job : *jobs)
            if (job.attempt != ++attempt)
                return lacks_attempt(record, folder, module.path, attempt);
    // Until a shard is complete its runner may have ended before it recorded an attempt.
    if (!record.end || !record.end->complete) return {};
    // Their names do not depend on the kind.
    const auto next = stored_names(folder, module.path, ++attempt, AttemptKind::whole);
    std::error_code error;
    const auto exists = [&](const fs::path& file) { return fs::exists(folder / file, error); };
    if (attempt == 1 || exists(next.log) || exists(next.events) || exists(next.devices) ||
        exists(next.hub))
        return lacks_attempt(record, folder, module.path, attempt);
    return {};
}

}  // namespace

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
    auto names = TRY(store::Store::temporary());
    for (const auto& shard : shards) TRY(names.begin_run(shard.info));
    const auto id = TRY(names.find_run(name));
    return *std::find_if(shards.begin(), shards.end(),
                         [&](const auto& shard) { return shard.info.id == id; });
}

Expected<void> each_shard_module(const RunRecord& record, const fs::path& folder,
                                 const fs::path& files, const store::ModuleVisitor& see) {
    const auto on_gone = [&](const store::JobResult& job) -> Expected<void> {
        return lacks_attempt(record, folder, job.record.path, job.attempt);
    };
    return each_recorded_module(record, files, on_gone,
                                [&](store::StoredModule module) -> Expected<void> {
                                    TRY(check_attempts(record, folder, module));
                                    return see(std::move(module));
                                });
}

Expected<store::Store> load_shard(const fs::path& folder) {
    const auto record = TRY(read_record(folder));
    auto store = store::Store::temporary();
    if (!store) return store;
    TRY(store->add_run({record.info, record.end, 0}, [&](const store::ModuleVisitor& see) {
        return each_shard_module(record, folder, folder, see);
    }));
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
