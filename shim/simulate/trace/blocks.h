// Memory of the devices while a trace runs (trace.h): like CUDA's caching allocator, what was freed
// serves the same stream again and no other. So an address whose tensor was used on two streams
// does not come to a third one, and memory that is used again too early is the memory that CUDA
// would use.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace compat::shim::simulate {

// For this thread's current stream of the device; `bytes` are rounded as the device's allocator
// does.
[[nodiscard]] c10::DataPtr traced_memory(c10::Allocator& host, std::size_t bytes, int device);

// False if there is no such block.
bool free_traced(void* memory);

// The block that an address lies in. Nothing if it lies in none of traced_memory.
struct TracedBlock {
    std::uintptr_t begin;
    bool is_recycled;                     // another tensor had the block before
    std::vector<c10::StreamId> recorded;  // by Tensor.record_stream, in this use
};
[[nodiscard]] std::optional<TracedBlock> traced_block(std::uintptr_t address);
void record_on_stream(const void* memory, c10::StreamId stream);

}  // namespace compat::shim::simulate
