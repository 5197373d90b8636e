// Counts in the record what a kernel of a simulated device did with a call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>

#include "record/recorder.h"

namespace compat::shim::simulate {

// From any thread. The recorder knows ops by numbers that it gives out under the GIL: a thread of
// autograd's has to wait for it here, which a fallback to the CPU costs on the device, too.
void note(EventKind kind, const c10::OperatorHandle& op);
void note(EventKind kind, std::string_view symbol);

}  // namespace compat::shim::simulate
