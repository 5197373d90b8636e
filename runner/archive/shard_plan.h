// The plan of shards (docs/reference/file-formats.md): made once by `runner plan`, read by every
// shard and by `merge`. Also why shards ended early, as a scheduler tells it. Not for cutting the
// modules (runner/plan/cut.h), or for the shards' folders (shards.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/archive/run_folder.h"
#include "runner/base/error.h"
#include "runner/base/files/fs.h"
#include "runner/store/store.h"

namespace compat::archive {

struct PlannedShard {
    std::optional<double> expected_s;  // wall time; empty: no duration is known
    std::vector<PlannedModule> modules;
};

struct ShardPlan {
    std::string cut;                   // plan::Cut::id
    int jobs = 1;                      // children at a time that the durations are for
    store::RunInfo run;                // as on the machine that planned; its id is the plan's
    RunPlan asked;                     // without modules
    std::vector<PlannedShard> shards;  // shard 1 first
};

[[nodiscard]] Expected<void> write_shard_plan(const fs::path& file, const ShardPlan& plan);
// Errors: io; usage, where it is no such plan or of another format.
[[nodiscard]] Expected<ShardPlan> read_shard_plan(const fs::path& file);

// The id of shard `index`, from 1: the same each time that it starts.
[[nodiscard]] std::string run_id_of_shard(const ShardPlan& plan, std::size_t index);

// Why shards ended early, by their index from 1: "NODE_FAIL", "TIMEOUT".
using ShardReasons = std::map<std::size_t, std::string>;
// Errors: io; usage, where it is no such file or of another plan.
[[nodiscard]] Expected<ShardReasons> read_shard_reasons(const fs::path& file,
                                                        const ShardPlan& plan);

}  // namespace compat::archive
