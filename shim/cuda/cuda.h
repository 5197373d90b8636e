// Answers what torch's C++ side asks of CUDA, in a process without CUDA: hooks, device guard,
// allocators, generators. There is one pretended device, cuda:0: the host or its accelerator.
//
// python/compat_shim answers torch.cuda's Python side. Both are installed together: with only one
// of them, torch finds a CUDA that is built but does not work.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/TensorBase.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstdint>

#include "redirect/imports.h"

namespace compat::shim {

// Installs hooks, guard and allocator, once, for the life of the process. Needs the GIL.
void install_cuda();

// While an instance lives, allocations and random draws of this thread's ops on the host count as
// CUDA's: tensors' memory is marked, and random numbers come from CUDA's generator.
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

// The default generator of cuda:0: a generator for CPU kernels, with its own state.
[[nodiscard]] const at::Generator& default_cuda_generator();
// Makes CPU kernels draw from it under AsCuda.
[[nodiscard]] Import default_generator_import();

// Whether the tensor's memory was allocated under AsCuda. False for results of ops on such a
// tensor.
[[nodiscard]] bool made_as_cuda(const at::TensorBase& tensor) noexcept;

// The host's CPU allocator; remembers its blocks so that is_pinned() can answer.
[[nodiscard]] c10::Allocator* pinned_allocator();
[[nodiscard]] bool is_pinned(const void* pointer);

// Memory of all CPU tensors allocated since activation, in bytes and blocks, and the machine's
// memory in bytes. It counts every CPU tensor, because results of ops do not show whether CUDA was
// asked for.
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

// The same for pinned memory.
struct PinnedFigures {
    Figure bytes, blocks;
};
[[nodiscard]] PinnedFigures pinned_figures();
void reset_peak_pinned();
void reset_accumulated_pinned();

// The current stream of this thread, by id. A stream is only an id: work has ended when its call
// returns.
[[nodiscard]] c10::StreamId current_stream() noexcept;
c10::StreamId exchange_stream(c10::StreamId stream) noexcept;
// A priority below 0 means high, any other low (0). The id encodes it.
[[nodiscard]] c10::StreamId new_stream(int priority) noexcept;
[[nodiscard]] int stream_priority(c10::StreamId stream) noexcept;
// Whether new_stream returned this id, or it is the default stream's.
[[nodiscard]] bool is_stream(c10::StreamId stream) noexcept;

// Time between two recorded events of the guard.
[[nodiscard]] double elapsed_ms(const void* from, const void* to);

// Called by install_cuda.
void install_guard();
void install_allocator();
void install_pinned();
void install_hooks();

}  // namespace compat::shim
