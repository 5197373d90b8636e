// Streams and events of devices on which work has ended when its call returns: a stream is only its
// number, an event the time when it was recorded.
#pragma once

#include <c10/core/Stream.h>

#include "runtime/export.h"

namespace compat::shim {

// A new stream's number. A priority below 0 means high, any other low (0). The number encodes it.
[[nodiscard]] COMPAT_EXPORT c10::StreamId new_stream(int priority) noexcept;
[[nodiscard]] COMPAT_EXPORT int stream_priority(c10::StreamId stream) noexcept;
// Whether new_stream returned this number, or it is a default stream's (0).
[[nodiscard]] COMPAT_EXPORT bool is_stream(c10::StreamId stream) noexcept;

// The current stream of this thread on a device, which has an index.
[[nodiscard]] COMPAT_EXPORT c10::StreamId current_stream(c10::Device device) noexcept;
COMPAT_EXPORT c10::StreamId exchange_stream(c10::Device device, c10::StreamId stream) noexcept;

// Records the time in an event of the guard (runtime/guard.h), which is null before.
COMPAT_EXPORT void record_event(void** event);
COMPAT_EXPORT void destroy_event(void* event) noexcept;
// Between two recorded events.
[[nodiscard]] COMPAT_EXPORT double elapsed_ms(const void* from, const void* to);

}  // namespace compat::shim
