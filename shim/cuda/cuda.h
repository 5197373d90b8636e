// What torch's C++ side asks of CUDA, answered for a process that has none: hooks, device guard,
// allocators, generators. One pretended device, cuda:0, which is the host.
//
// torch.cuda's Python side is answered in python/compat_shim. Both sides are installed together:
// with one alone, torch finds a CUDA that is built but cannot be spoken to.
#pragma once

#include <ATen/core/Generator.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstdint>

namespace compat::shim {

// Hooks, guard and allocator, once, for the life of the process. With the GIL held.
void install_cuda();

// The host's CPU allocator, remembering what it handed out so that is_pinned() can answer.
[[nodiscard]] c10::Allocator* pinned_allocator();
[[nodiscard]] bool is_pinned(const void* pointer);

// The process's memory, in bytes: resident now, the most since the last reset, the machine's all
// and free.
struct MemoryFigures {
    std::int64_t current = 0, peak = 0, total = 0, free = 0;
};
[[nodiscard]] MemoryFigures memory_figures();
void reset_peak_memory();

// The current stream of this thread, by id. Work is done when the call returns, so that a stream
// is no more than its name.
[[nodiscard]] c10::StreamId current_stream() noexcept;
c10::StreamId exchange_stream(c10::StreamId stream) noexcept;
[[nodiscard]] c10::StreamId new_stream() noexcept;

// Called by install_cuda.
void install_guard();
void install_allocator();
void install_hooks();

}  // namespace compat::shim
