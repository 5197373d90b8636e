// guard.cc's state of each thread, for callers that do not use torch's guard.
#pragma once

#include <c10/core/Stream.h>

namespace compat::shim::simulate {

// 0 is the device's default stream; other ids come from new_stream (cuda/cuda.h).
[[nodiscard]] c10::StreamId current_stream(int device) noexcept;
void set_current_stream(int device, c10::StreamId stream);

// Called by install.
void install_guard();

}  // namespace compat::shim::simulate
