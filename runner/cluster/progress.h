// The progress of shards that run elsewhere, read from their folders: the lines that a shard's
// runner prints, and how many modules have an attempt. Not here: the states of Slurm (watch.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/archive/shard_plan.h"
#include "runner/base/files/fs.h"

namespace compat::cluster {

class ShardProgress {
  public:
    ShardProgress(const archive::ShardPlan& plan, const fs::path& results);

    // New whole lines of all shards since the last call, without their times: "shard 2: …".
    [[nodiscard]] std::vector<std::string> new_lines();
    // "14 of 40 modules".
    [[nodiscard]] std::string words() const;
    // Modules of a shard with an attempt that ended, as of the last call of new_lines.
    [[nodiscard]] std::size_t modules_done() const;

  private:
    struct Shard {
        fs::path folder;
        std::uint64_t read = 0;          // bytes of run.log
        std::uint64_t record_bytes = 0;  // when `done` was counted
        std::size_t done = 0;
    };
    std::vector<Shard> shards_;
    std::size_t modules_ = 0;
};

}  // namespace compat::cluster
