// torch.zeros(2, out=tensor, device="cuda"): torch's argument parser compares the device with the
// tensor's before any kernel runs. This makes it compare with the redirected device.
#pragma once

#include "runtime/imports.h"

namespace compat::shim {

// With the GIL held.
[[nodiscard]] Import out_check_import();

}  // namespace compat::shim
