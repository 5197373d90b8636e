// Storages of the simulated CUDA devices that several processes share, as torch shares them with
// CUDA's IPC. A sent storage's memory stays while a process holds it, even if the sender has freed
// its tensor. It counts as the sender's.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace compat::shim::simulate {

struct SharedMemory {
    std::string handle;       // of the memory that the storage is a part of
    std::size_t offset = 0;   // there, in bytes
    std::size_t counter = 0;  // the counter, in that memory, of the storage's holders
};

// Moves the storage of `tensor` to shared memory, unless it is there, and counts one more process
// that holds it. Nothing for a storage without memory. Nothing also while kernels run: call again
// then.
[[nodiscard]] bool has_memory(const at::Tensor& tensor);
[[nodiscard]] std::optional<SharedMemory> try_share(const at::Tensor& tensor);

// The bytes of a storage that another process shared. Throws CUDA's error if that process has
// ended.
[[nodiscard]] at::Tensor open_shared(int device, std::size_t bytes, const SharedMemory& memory);
// Counts one process less that holds the storage.
void release_holder(const std::string& handle, std::size_t counter);

// Frees the memory of freed tensors that no other process holds any more.
void collect_sent();

}  // namespace compat::shim::simulate
