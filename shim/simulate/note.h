// Counts in the record what a kernel of a simulated device did with a call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>

#include "record/recorder.h"

namespace compat::shim::simulate {

// From any thread. The recorder numbers ops under the GIL. A thread of autograd waits for the GIL
// here, as it does in a fallback to the CPU on the device.
void note(EventKind kind, const c10::OperatorHandle& op);
void note(EventKind kind, std::string_view symbol);

}  // namespace compat::shim::simulate
