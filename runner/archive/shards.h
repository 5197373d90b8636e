// Shards: runs of `--shard I/N`. Their folders are all that is stored of them until `merge` stores
// them as one run. Not here: merging (runner/cluster/merge.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runner/archive/run_record.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

struct ShardFolder {
    fs::path folder;
    store::RunInfo info;
};

struct ShardFolders {
    std::vector<ShardFolder> shards;  // newest first
    // Folders that cannot be listed, or whose record, perhaps of a shard, cannot be read.
    std::vector<Error> errors;
};
// The shards under `results`/runs. Folders without a record are left out.
[[nodiscard]] ShardFolders shard_folders(const fs::path& results);

// The shard that a run's name means (Store::find_run). Errors: usage, naming the candidates.
[[nodiscard]] Expected<ShardFolder> find_shard(const fs::path& results, std::string_view name);

// Each module of the shard in `folder`, with its attempts as their files in `files` (the folder or
// a copy) are read by today's parsers. Errors: usage, where an attempt or one of its files is
// missing. A complete shard lacks no module and no last attempt either.
[[nodiscard]] Expected<void> each_shard_module(const RunRecord& record, const fs::path& folder,
                                               const fs::path& files,
                                               const store::ModuleVisitor& see);

// A temporary database that holds the shard alone, read from its folder. Errors: as
// each_shard_module's.
[[nodiscard]] Expected<store::Store> load_shard(const fs::path& folder);

// The id of a run in the database. Errors: those of Store::find_run; usage, where `name` means a
// shard that only has a folder.
[[nodiscard]] Expected<std::string> find_run(const store::Store& store, const fs::path& results,
                                             std::string_view name);

}  // namespace compat::archive
