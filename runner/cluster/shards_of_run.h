// Finds the shards that make one run: the newest of each, all of one plan. Not here: making the run
// (merge.h).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/archive/shard_plan.h"
#include "runner/archive/shards.h"
#include "runner/base/error.h"

namespace compat::cluster {

// A shard that has a folder.
struct FoundShard {
    archive::ShardFolder shard;
    std::optional<store::RunEnd> end;  // empty: it did not end in order
    std::optional<store::StateCounts> states;

    [[nodiscard]] bool complete() const { return end && end->complete; }
};

struct ShardsOfRun {
    std::size_t count = 0;                    // of the plan
    std::map<std::size_t, FoundShard> found;  // by index, from 1
    std::map<std::size_t, std::string> lost;  // why one that wrote something is not in `found`
    // Shards in `found` that ran in another way than the newest, and in what they differ.
    std::vector<std::string> notes;

    [[nodiscard]] bool all_complete() const;
};

// `folders`: run folders, and results folders, of which every shard counts. `plan`: null where the
// shards alone say how they were cut. Errors: usage, where they do not fit together; unless
// `allow_missing`, also where one is missing or not complete.
[[nodiscard]] Expected<ShardsOfRun> find_shards_of_run(const std::vector<std::string>& folders,
                                                       const archive::ShardPlan* plan,
                                                       bool allow_missing);

}  // namespace compat::cluster
