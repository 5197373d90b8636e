#include "runner/analysis/collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runner/base/text.h"

namespace compat::analysis {

namespace {

double quotient(std::int64_t sum, std::int64_t by) {
    return by > 0 ? static_cast<double>(sum) / static_cast<double>(by) : 0;
}

}  // namespace

double CollectiveFigures::bytes_each() const { return quotient(bytes, divisor()); }

void CollectiveSums::add(const std::vector<parsers::CollectiveCalls>& calls,
                         const std::vector<parsers::OptimizerSteps>& steps) {
    using parsers::capped_sum;
    for (const parsers::CollectiveCalls& row : calls) {
        CollectiveSite& site =
            sites_[{row.location.file, row.location.line, row.op, row.group, row.ranks}];
        site = {row.op,
                row.group,
                row.ranks,
                row.location,
                capped_sum(site.count, row.count),
                capped_sum(site.bytes, row.bytes)};
    }
    for (const parsers::OptimizerSteps& row : steps) {
        std::int64_t& count = steps_[row.ranks];
        count = capped_sum(count, row.count);
    }
}

CollectiveFigures CollectiveSums::figures() const {
    using parsers::capped_sum;
    CollectiveFigures figures;
    for (const auto& [key, site] : sites_) {
        figures.ranks = std::max(figures.ranks, site.ranks);
        figures.calls = capped_sum(figures.calls, site.count);
        figures.bytes = capped_sum(figures.bytes, site.bytes);
        figures.sites.push_back(site);
    }
    double of_one = 0;
    for (const auto& [ranks, count] : steps_) {
        figures.rank_steps = capped_sum(figures.rank_steps, count);
        of_one += quotient(count, std::max<std::int64_t>(ranks, 1));
    }
    if (figures.rank_steps > 0) figures.steps = std::max<std::int64_t>(1, std::llround(of_one));
    std::stable_sort(figures.sites.begin(), figures.sites.end(), [](const auto& a, const auto& b) {
        return std::tie(a.bytes, a.count) > std::tie(b.bytes, b.count);
    });
    return figures;
}

double ring_factor(std::string_view op, std::int64_t ranks) {
    if (ranks < 2) return 0;  // nothing leaves the rank
    const auto* const row = std::find_if(kRingFactors.begin(), kRingFactors.end(),
                                         [&](const RingFactor& each) { return each.op == op; });
    if (row == kRingFactors.end()) return 1;
    return row->parts * quotient(ranks - 1, ranks) + row->whole;
}

double ring_seconds(const CollectiveFigures& figures, const CollectiveLink& link) {
    double seconds = 0;
    for (const CollectiveSite& site : figures.sites)
        seconds += static_cast<double>(site.count) * link.latency * 1e-6 +
                   ring_factor(site.op, site.ranks) * static_cast<double>(site.bytes) /
                       (link.bandwidth * 1e9);
    const auto each = static_cast<double>(std::max<std::int64_t>(1, figures.divisor()));
    return seconds / each;
}

std::string describe_collectives(const CollectiveFigures& figures) {
    return fmt::format(
        "{}, {}; {} {}", counted(figures.ranks, "rank"),
        figures.rank_steps > 0 ? counted(figures.steps, "step") : "no optimizer step",
        format_size(static_cast<std::uint64_t>(figures.bytes_each())),
        figures.rank_steps > 0 ? "a step a rank" : "a rank");
}

std::string describe_ring(const CollectiveFigures& figures, const CollectiveLink& link) {
    return fmt::format(
        "NCCL ring model at {:g} GB/s, {:g} µs a call: {:.3g} ms {} (a model, not a "
        "measurement)",
        link.bandwidth, link.latency, ring_seconds(figures, link) * 1e3,
        figures.rank_steps > 0 ? "a step" : "a rank");
}

}  // namespace compat::analysis
