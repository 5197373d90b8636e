// Pinned memory of devices whose memory is the host's: ordinary memory that is counted, and
// remembered for is_pinned().
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/DeviceType.h>

#include "runtime/counter.h"
#include "runtime/export.h"

namespace compat::shim {

[[nodiscard]] COMPAT_EXPORT c10::Allocator* pinned_allocator();
[[nodiscard]] COMPAT_EXPORT bool is_pinned(const void* pointer);

struct PinnedFigures {
    Figure bytes, blocks;
};
[[nodiscard]] COMPAT_EXPORT PinnedFigures pinned_figures();
COMPAT_EXPORT void reset_peak_pinned();
COMPAT_EXPORT void reset_accumulated_pinned();

// In a build of torch with such devices, whose own allocators have a priority, too.
inline constexpr std::uint8_t kHighestPriority = 255;

// Makes it torch's pinned memory for a type of device, for the life of the process.
COMPAT_EXPORT void install_pinned(c10::DeviceType type);

}  // namespace compat::shim
