// Checks of devices inside upstream's kernels, for ops whose tensors may be on several devices.
#pragma once

#include <c10/core/Device.h>

#include "simulate/refusals.h"

namespace compat::shim::simulate {

// Throws TensorIterator's error, which names a device before the CPU.
[[noreturn]] void refuse_two_devices(c10::Device one, c10::Device other);

// Checks assigned values as at::native::_index_put_impl_ does. Does nothing for an op without them.
void check_assigned(const c10::FunctionSchema& schema, Values values);

}  // namespace compat::shim::simulate
