// The machine's memory, or what its control groups leave this process of it.
#pragma once

#include <cstdint>

#include "runtime/export.h"

namespace compat::shim {

struct HostMemory {
    std::int64_t total = 0;  // bytes
    // Available without swapping; more than the unused memory, because caches can be released.
    std::int64_t free = 0;
};
[[nodiscard]] COMPAT_EXPORT HostMemory host_memory();

}  // namespace compat::shim
