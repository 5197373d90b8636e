// Checks of devices that upstream's kernels make inside, where tensors are not simply on one
// device.
#pragma once

#include <c10/core/Device.h>

#include "simulate/refusals.h"

namespace compat::shim::simulate {

// Throws TensorIterator's error, which names a device before the CPU.
[[noreturn]] void refuse_two_devices(c10::Device one, c10::Device other);

// As at::native::_index_put_impl_ checks the values that are assigned. Nothing for an op without
// them.
void check_assigned(const c10::FunctionSchema& schema, Values values);

}  // namespace compat::shim::simulate
