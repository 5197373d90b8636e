// Storages of the simulated CUDA devices that other processes see too, as torch shares them with
// CUDA's IPC: a sent storage's memory stays while a process holds it, also where the sender has
// freed its tensor. It counts as the sender's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace compat::shim::simulate {

struct SharedMemory {
    std::string handle;       // of the memory that the storage is a part of
    std::size_t offset = 0;   // there, in bytes
    std::size_t counter = 0;  // which of that memory's counters counts the storage's holders
};

// Moves the storage of `tensor` to shared memory, unless it is there, and counts one process more
// that holds it. Nothing for a storage without memory, or if kernels run just now: ask again.
[[nodiscard]] bool has_memory(const at::Tensor& tensor);
[[nodiscard]] std::optional<SharedMemory> try_share(const at::Tensor& tensor);

// The bytes of a storage that another process shared. Throws CUDA's error if that process has
// ended.
[[nodiscard]] at::Tensor open_shared(int device, std::size_t bytes, const SharedMemory& memory);
// One process less that holds the storage.
void release_holder(const std::string& handle, std::size_t counter);

// Frees the memory of freed tensors that no other process holds any more.
void collect_sent();

}  // namespace compat::shim::simulate
