#include "simulate/ipc/pool.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace compat::shim::simulate {
namespace {

constexpr std::size_t kUsualGranules = (std::size_t{64} << 20) / Segment::kGranule;

using FreeRuns = std::map<std::size_t, std::size_t>;

FreeRuns::iterator first_fit(FreeRuns& free, std::size_t count) {
    return std::find_if(free.begin(), free.end(),
                        [&](const auto& run) { return run.second >= count; });
}

void add_run(FreeRuns& free, std::size_t first, std::size_t count) {
    const auto added = free.emplace(first, count).first;
    if (const auto next = std::next(added); next != free.end() && first + count == next->first) {
        added->second += next->second;
        free.erase(next);
    }
    if (added == free.begin()) return;
    if (const auto before = std::prev(added); before->first + before->second == first) {
        before->second += added->second;
        free.erase(added);
    }
}

}  // namespace

Region Pool::allocate(std::size_t bytes) {
    const std::size_t count =
        std::max<std::size_t>((bytes + Segment::kGranule - 1) / Segment::kGranule, 1);
    const std::lock_guard lock(mutex_);
    for (Part& part : parts_) {
        const auto run = first_fit(part.free, count);
        if (run == part.free.end()) continue;
        const auto [first, length] = *run;
        part.free.erase(run);
        if (length > count) part.free.emplace(first + count, length - count);
        return {part.segment, first, count};
    }
    Part part{Segment::create(std::max(count, kUsualGranules)), {}};
    if (part.segment->granules() > count)
        part.free.emplace(count, part.segment->granules() - count);
    parts_.push_back(part);
    return {std::move(part.segment), 0, count};
}

// The last segment of the usual size stays for the next region.
void Pool::release(const Region& region) {
    region.segment->clear(region.granule, region.count);
    const std::lock_guard lock(mutex_);
    const auto part = std::find_if(parts_.begin(), parts_.end(), [&](const Part& each) {
        return each.segment == region.segment;
    });
    add_run(part->free, region.granule, region.count);
    const std::size_t granules = part->segment->granules();
    const bool unused = part->free.begin()->second == granules;
    if (unused && (parts_.size() > 1 || granules != kUsualGranules)) parts_.erase(part);
}

}  // namespace compat::shim::simulate
