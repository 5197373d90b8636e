// The compute capability of the simulated CUDA devices, by which kernels differ.
#pragma once

namespace compat::shim::simulate {

// Compute capability of every device, as 10 * major + minor: 80 for 8.0. Set before the devices are
// installed.
void set_capability(int capability) noexcept;
[[nodiscard]] int capability() noexcept;

}  // namespace compat::shim::simulate
