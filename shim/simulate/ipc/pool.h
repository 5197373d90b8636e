// The shared memory that this process made: segments, cut into regions. Small tensors share a
// segment, so that thousands need few descriptors and maps.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simulate/ipc/segment.h"

namespace compat::shim::simulate {

struct Region {
    std::shared_ptr<Segment> segment;
    std::size_t granule = 0, count = 0;

    [[nodiscard]] std::size_t offset() const { return segment->offset(granule); }
    [[nodiscard]] std::byte* data() const { return segment->at_offset(offset()); }
    [[nodiscard]] std::atomic_ref<int> holders() const { return segment->holders(granule); }
};

class Pool {
  public:
    // Filled with zeros. Throws as Segment::create does.
    [[nodiscard]] Region allocate(std::size_t bytes);
    void release(const Region& region);

  private:
    struct Part {
        std::shared_ptr<Segment> segment;
        std::map<std::size_t, std::size_t> free;  // first granule → granules
    };
    std::mutex mutex_;
    std::vector<Part> parts_;
};

}  // namespace compat::shim::simulate
