// torch.zeros(2, out=tensor, device="cuda"): torch's argument parser holds the device against the
// tensor's before any kernel is asked. It is made to compare with where the request goes.
#pragma once

#include "redirect/imports.h"

namespace compat::shim {

// With the GIL held.
[[nodiscard]] Import out_check_import();

}  // namespace compat::shim
