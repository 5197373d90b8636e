// autocast("cuda") for tensors that are on the CPU. It switches the CPU's autocast on as well
// (python/compat_shim/autocast.py), whose list of ops is shorter than CUDA's; the rest of CUDA's is
// put on the CPU's key here. Not for autocast("cpu"): alone, it works as without us.
#pragma once

namespace compat::shim {

// Once, for the life of the process. The number of ops that got a kernel.
int register_autocast();

}  // namespace compat::shim
