#include "runtime/drawing.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <utility>

#include "runtime/imports.h"
#include "runtime/torch_symbols.h"

namespace compat::shim {
namespace {

thread_local const at::Generator* lent = nullptr;

#ifndef __APPLE__
const at::Generator& default_generator() {
    return lent ? *lent : at::detail::getDefaultCPUGenerator();
}
#endif

}  // namespace

DrawFrom::DrawFrom(const at::Generator& generator) noexcept
    : before_(std::exchange(lent, &generator)) {}

DrawFrom::~DrawFrom() { lent = before_; }

// A second replacement would find our own function in the tables.
bool install_drawing() {
#ifdef __APPLE__
    // The library of the kernels has the function itself, and calls it through no slot.
    return false;
#else
    static const bool replaced = [] {
        const std::array imports{
            Import{kTorchSymbols.default_generator, reinterpret_cast<void*>(&default_generator)}};
        return replace_imports(imports).front() > 0;
    }();
    return replaced;
#endif
}

}  // namespace compat::shim
