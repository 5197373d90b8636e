// The host's accelerator, through torch's interfaces for every accelerator. This file does not know
// which one it is, nor whether it is simulated.
#pragma once

#include <ATen/core/Generator.h>

#include <cstdint>
#include <optional>

namespace compat::shim {

[[nodiscard]] const at::Generator& accelerator_generator();

// Blocks of memory that its allocator has given out since the last call, on all devices. This is a
// lower bound of the ops that ran there, without a cost for each op. Nothing if its allocator does
// not count.
[[nodiscard]] std::optional<std::int64_t> take_accelerator_allocations();

}  // namespace compat::shim
