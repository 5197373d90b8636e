// Cuts a plan into shards of about equal duration: a pure function, equal on every machine that
// knows the same modules and durations. Not for the file that names them
// (runner/archive/shard_plan.h).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runner/base/error.h"
#include "runner/plan/plan.h"

namespace compat::plan {

// One of several parts of a plan.
struct Shard {
    std::size_t index = 1;  // from 1
    std::size_t count = 1;
};
// A larger number is a mistake: no suite has that many modules.
inline constexpr std::size_t kMaxShards = 10'000;
// "2/5". Errors: usage.
[[nodiscard]] Expected<Shard> parse_shard(std::string_view text);
// A shard's number, from 1; 0: it is none.
[[nodiscard]] std::size_t parse_shard_index(std::string_view text);

struct Cut {
    std::vector<std::vector<Job>> shards;  // jobs in the order of the plan; a shard may be empty
    std::string id;                        // names the plan and its cut
};

// Longest module first, each into the shard with the shortest sum.
[[nodiscard]] Cut cut(const Plan& plan, const Selection& selection, std::size_t shards);

// The fewest shards that each take at most `seconds` with `parallel` children at a time, as far as
// no module alone takes longer. Errors: usage, where no duration is known.
[[nodiscard]] Expected<std::size_t> shards_within(const Plan& plan, double seconds, int parallel);

// The time that a shard takes with `parallel` children at a time, at best.
[[nodiscard]] double expected_seconds(const std::vector<Job>& shard, int parallel);

// FNV-1a (Fowler, Noll, Vo), the same on every machine, of all that decides which shard runs what.
[[nodiscard]] std::string id_of(const std::vector<std::vector<Job>>& shards,
                                const Selection& selection);

}  // namespace compat::plan
