// Lends CPU kernels a generator. They accept only CPU generators, and ask one function of libtorch
// for the default one. Its imports are replaced by a function that answers for the calling thread.
#pragma once

#include <ATen/core/Generator.h>

#include "runtime/export.h"

namespace compat::shim {

// While an instance lives, CPU kernels of this thread that ask for the CPU's default generator get
// this one.
class COMPAT_EXPORT DrawFrom {
  public:
    explicit DrawFrom(const at::Generator& generator) noexcept;
    ~DrawFrom();
    DrawFrom(const DrawFrom&) = delete;
    DrawFrom& operator=(const DrawFrom&) = delete;

  private:
    const at::Generator* before_;
};

// Once, with the GIL held. Returns whether CPU kernels ask through a library's imports. On macOS
// they do not, and an instance has no effect.
COMPAT_EXPORT bool install_drawing();

}  // namespace compat::shim
