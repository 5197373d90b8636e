// The default generator of the pretended CUDA device: one for CPU kernels, with its own state.
#include <ATen/CPUGeneratorImpl.h>

#include "redirect/cuda.h"

namespace compat::shim {

// Never destroyed, like torch's own default generators.
const at::Generator& default_cuda_generator() {
    static const auto* generator =
        new at::Generator(at::detail::createCPUGenerator(c10::default_rng_seed_val));
    return *generator;
}

}  // namespace compat::shim
