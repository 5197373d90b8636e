// Random numbers of the simulated devices. A generator of the device's type has a seed and an
// offset, as Philox has. It lends CPU kernels a generator from which they draw.
//
// The numbers are not upstream's: a seed repeats its sequence, which differs from the real device's
// (docs/reference/simulated-devices.md).
#pragma once

#include <ATen/core/Generator.h>

namespace compat::shim::simulate {

[[nodiscard]] const at::Generator& default_generator(int device);
// A generator for `device`, which for CUDA may lack an index.
[[nodiscard]] at::Generator new_generator(c10::Device device);

// A CPU generator with the numbers of `generator`'s next draw, which counts as drawn. Throws if it
// is not one of the accelerator's.
[[nodiscard]] at::Generator lend(const at::Generator& generator);

}  // namespace compat::shim::simulate
