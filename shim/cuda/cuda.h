// What torch's C++ side asks of CUDA, answered for a process that has none: hooks, device guard,
// allocators, generators. One pretended device, cuda:0, which is the host or its accelerator.
//
// torch.cuda's Python side is answered in python/compat_shim. Both sides are installed together:
// with one alone, torch finds a CUDA that is built but cannot be spoken to.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/TensorBase.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "redirect/imports.h"

namespace compat::shim {

// Hooks, guard and allocator, once, for the life of the process. With the GIL held.
void install_cuda();

// While one lives, what this thread's ops allocate and draw on the host stands for what they would
// on CUDA: tensors' memory is remembered as CUDA's, and random numbers come from CUDA's generator.
class AsCuda {
  public:
    AsCuda() noexcept { ++depth_; }
    ~AsCuda() { --depth_; }
    AsCuda(const AsCuda&) = delete;
    AsCuda& operator=(const AsCuda&) = delete;
    [[nodiscard]] static bool active() noexcept { return depth_ > 0; }

  private:
    static inline thread_local int depth_ = 0;
};

// The default generator of cuda:0: a generator of CPU kernels, with a state of its own.
[[nodiscard]] const at::Generator& default_cuda_generator();
// What makes CPU kernels draw from it under AsCuda.
[[nodiscard]] Import default_generator_import();

// Whether the tensor's memory was allocated under AsCuda. Results of ops on such a tensor are not.
[[nodiscard]] bool made_as_cuda(const at::TensorBase& tensor) noexcept;

// The host's CPU allocator, remembering what it handed out so that is_pinned() can answer.
[[nodiscard]] c10::Allocator* pinned_allocator();
[[nodiscard]] bool is_pinned(const void* pointer);

// What CPU tensors take that were allocated since activation, whatever device they were asked for
// on: a tensor's results carry no mark of it. In bytes and in blocks; and the machine's memory, in
// bytes.
struct Figure {
    std::int64_t current = 0, peak = 0;     // the peak since the last reset
    std::int64_t allocated = 0, freed = 0;  // since the last reset of them
};
struct MemoryFigures {
    Figure bytes, blocks;
    std::int64_t total = 0, free = 0;
};
[[nodiscard]] MemoryFigures memory_figures();
void reset_peak_memory();
void reset_accumulated_memory();

// The same of pinned memory.
struct PinnedFigures {
    Figure bytes, blocks;
};
[[nodiscard]] PinnedFigures pinned_figures();
void reset_peak_pinned();
void reset_accumulated_pinned();

// The current stream of this thread, by id. Work is done when the call returns, so that a stream
// is no more than its name.
[[nodiscard]] c10::StreamId current_stream() noexcept;
c10::StreamId exchange_stream(c10::StreamId stream) noexcept;
// A priority below 0 is the high one, any other the low one, 0; the id holds which.
[[nodiscard]] c10::StreamId new_stream(int priority) noexcept;
[[nodiscard]] int stream_priority(c10::StreamId stream) noexcept;
// Whether new_stream has given this id out, or it is the default stream's.
[[nodiscard]] bool is_stream(c10::StreamId stream) noexcept;

// Between two events of the guard's that were recorded.
[[nodiscard]] double elapsed_ms(const void* from, const void* to);

// Called by install_cuda.
void install_guard();
void install_allocator();
void install_pinned();
void install_hooks();

}  // namespace compat::shim
