// Collectives of a run or a program in figures: bytes and calls a step, and the time that rings of
// NCCL would take for them. Pure. The time is a model: it knows neither trees nor NVLink SHARP, and
// not what a program computes meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "parsers/record.h"

namespace compat::analysis {

// Between the ranks of a group.
struct CollectiveLink {
    double bandwidth = 300;  // 10^9 bytes a second, as nccl-tests' "busbw"
    double latency = 5;      // microseconds a call
    friend bool operator==(const CollectiveLink&, const CollectiveLink&) = default;
};

// Calls from one line, in one group.
struct CollectiveSite {
    std::string op;
    std::string group;
    std::int64_t ranks = 0;
    parsers::Location location;
    std::int64_t count = 0;  // this and the bytes: of all ranks together
    std::int64_t bytes = 0;
    friend bool operator==(const CollectiveSite&, const CollectiveSite&) = default;
};

struct CollectiveFigures {
    std::int64_t ranks = 0;       // of the largest group
    std::int64_t steps = 0;       // of one rank: an average where ranks differ
    std::int64_t rank_steps = 0;  // of all ranks together
    std::int64_t calls = 0;       // this and the bytes: of all ranks together
    std::int64_t bytes = 0;
    std::vector<CollectiveSite> sites;  // most bytes first

    // By which sums over all ranks are divided: "a step a rank", without steps "a rank".
    [[nodiscard]] std::int64_t divisor() const { return rank_steps > 0 ? rank_steps : ranks; }
    [[nodiscard]] double bytes_each() const;
};

// Adds up the collectives of modules or processes. Its memory grows with the lines that call them.
class CollectiveSums {
  public:
    void add(const std::vector<parsers::CollectiveCalls>& calls,
             const std::vector<parsers::OptimizerSteps>& steps);
    // Without calls if there was no collective.
    [[nodiscard]] CollectiveFigures figures() const;

  private:
    using Key = std::tuple<std::string, int, std::string, std::string, std::int64_t>;
    std::map<Key, CollectiveSite> sites_;
    std::map<std::int64_t, std::int64_t> steps_;  // by ranks
};

// How much of a call's bytes a link carries in a ring of n ranks: parts · (n - 1) / n + whole. It
// is "busbw" over "algbw" of nccl-tests: doc/PERFORMANCE.md, and the programs of those not in it.
struct RingFactor {
    std::string_view op;
    double parts, whole;
};
inline constexpr std::array<RingFactor, 15> kRingFactors{{
    {"all_reduce", 2, 0},
    {"all_reduce_coalesced", 2, 0},
    {"all_gather", 1, 0},
    {"all_gather_into_tensor", 1, 0},
    {"all_gather_coalesced", 1, 0},
    {"reduce_scatter", 1, 0},
    {"reduce_scatter_tensor", 1, 0},
    {"all_to_all", 1, 0},
    {"all_to_all_single", 1, 0},
    {"gather", 1, 0},
    {"scatter", 1, 0},
    {"broadcast", 0, 1},
    {"reduce", 0, 1},
    {"send", 0, 1},
    {"recv", 0, 1},
}};
// 0 for a group of one rank, 1 for an op that is not in the table.
[[nodiscard]] double ring_factor(std::string_view op, std::int64_t ranks);

// Seconds of a rank in the calls of a step; without steps, in all of its calls.
[[nodiscard]] double ring_seconds(const CollectiveFigures& figures, const CollectiveLink& link);

// "4 ranks, 120 steps; 12.3 MiB a step a rank"
[[nodiscard]] std::string describe_collectives(const CollectiveFigures& figures);
// "NCCL ring model at 300 GB/s, 5 µs a call: 0.24 ms a step (a model, not a measurement)"
[[nodiscard]] std::string describe_ring(const CollectiveFigures& figures,
                                        const CollectiveLink& link);

}  // namespace compat::analysis
