// Random numbers of the simulated devices: a generator of the device's type whose state is a seed
// and an offset, as Philox's is, and which lends CPU kernels a generator they can draw from.
//
// Not upstream's numbers: a seed gives the same sequence each time, but not the one that it gives
// on the real device (docs/reference/simulated-devices.md).
#pragma once

#include <ATen/core/Generator.h>

namespace compat::shim::simulate {

[[nodiscard]] const at::Generator& default_generator(int device);
[[nodiscard]] at::Generator new_generator(c10::Device device);

// A CPU generator with the numbers of `generator`'s next draw, which counts as drawn. Throws where
// it is not one of the accelerator's.
[[nodiscard]] at::Generator lend(const at::Generator& generator);

// While one lives, CPU kernels of this thread that fetch the CPU's default generator get this one.
class DrawFrom {
  public:
    explicit DrawFrom(const at::Generator& generator) noexcept;
    ~DrawFrom();
    DrawFrom(const DrawFrom&) = delete;
    DrawFrom& operator=(const DrawFrom&) = delete;
    [[nodiscard]] static const at::Generator* active() noexcept;

  private:
    const at::Generator* before_;
};

}  // namespace compat::shim::simulate
