// autocast("cuda") and autocast("mps") for tensors on the CPU. compat_shim/redirect/autocast.py
// also turns the CPU's autocast on, whose list of ops is shorter. This file registers the rest of
// CUDA's list on the CPU's key. autocast("cpu") alone is unchanged.
#pragma once

namespace compat::shim {

// Once, for the life of the process. Returns the number of ops that got a kernel.
int register_autocast();

}  // namespace compat::shim
