// Answers torch's C++ questions to CUDA, in a process without CUDA: hooks, device guard, allocator,
// generator. There is one pretended device, cuda:0: the host or its accelerator.
//
// python/compat_shim answers torch.cuda's Python side. Both are installed together: with one alone,
// torch finds a CUDA that is built but does not work.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/TensorBase.h>

#include "runtime/counter.h"
#include "runtime/drawing.h"

namespace compat::shim {

// Makes torch.Generator work for redirected devices, on any host. Call once, with the GIL held.
void install_generators();

// Installs hooks, guard and allocator, once, for the life of the process. Needs the GIL.
void install_cuda();

// The default generator of cuda:0: a generator for CPU kernels, with its own state.
[[nodiscard]] const at::Generator& default_cuda_generator();

// While an instance lives, allocations and random draws of this thread's ops on the host count as
// CUDA's: tensors' memory is marked, and random numbers come from CUDA's generator.
class AsCuda {
  public:
    AsCuda() noexcept : drawing_(default_cuda_generator()) { ++depth_; }
    ~AsCuda() { --depth_; }
    AsCuda(const AsCuda&) = delete;
    AsCuda& operator=(const AsCuda&) = delete;
    [[nodiscard]] static bool active() noexcept { return depth_ > 0; }

  private:
    static inline thread_local int depth_ = 0;
    DrawFrom drawing_;
};

// Whether the tensor's memory was allocated under AsCuda. False for results of ops on such a
// tensor.
[[nodiscard]] bool made_as_cuda(const at::TensorBase& tensor) noexcept;

// Memory of all CPU tensors allocated since activation. It counts every CPU tensor, because results
// of ops do not show whether CUDA was asked for.
struct TensorMemory {
    Figure bytes, blocks;
};
[[nodiscard]] TensorMemory tensor_memory();
void reset_peak_memory();
void reset_accumulated_memory();

// Called by install_cuda.
void install_guard();
void install_allocator();
void install_hooks();

}  // namespace compat::shim
