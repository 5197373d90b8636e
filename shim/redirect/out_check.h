// torch.zeros(2, out=tensor, device="cuda"): torch's argument parser holds the device against the
// tensor's before any kernel is asked. It is made to compare with where the request goes.
#pragma once

namespace compat::shim {

// Once, for the life of the process. The number of imports replaced; 0 where the platform has no
// import tables (imports.h).
int install_out_check();

}  // namespace compat::shim
