// The default generator of the pretended CUDA device. CPU kernels get the CPU's default generator
// from one function of libtorch. Its imports are replaced by our function, which answers for the
// calling thread. The generator stays a CPU generator, because CPU kernels accept no other.
#include "simulate/generator.h"

#include <ATen/CPUGeneratorImpl.h>

#include "cuda/cuda.h"

namespace compat::shim {
namespace {

// const at::Generator& at::detail::getDefaultCPUGenerator()
constexpr std::string_view kDefaultGenerator = "_ZN2at6detail22getDefaultCPUGeneratorEv";

const at::Generator& default_generator_for_this_thread() {
    if (const auto* lent = simulate::DrawFrom::active()) return *lent;
    return AsCuda::active() ? default_cuda_generator() : at::detail::getDefaultCPUGenerator();
}

}  // namespace

const at::Generator& default_cuda_generator() {
    // Never destroyed, like torch's own default generators.
    static const auto* generator =
        new at::Generator(at::detail::createCPUGenerator(c10::default_rng_seed_val));
    return *generator;
}

Import default_generator_import() {
    return {kDefaultGenerator, reinterpret_cast<void*>(&default_generator_for_this_thread)};
}

}  // namespace compat::shim
