#include "runtime/drawing.h"

#include <ATen/CPUGeneratorImpl.h>

#include <array>
#include <utility>

#include "runtime/imports.h"

namespace compat::shim {
namespace {

// const at::Generator& at::detail::getDefaultCPUGenerator()
constexpr std::string_view kSymbol = "_ZN2at6detail22getDefaultCPUGeneratorEv";

thread_local const at::Generator* lent = nullptr;

const at::Generator& default_generator() {
    return lent ? *lent : at::detail::getDefaultCPUGenerator();
}

}  // namespace

DrawFrom::DrawFrom(const at::Generator& generator) noexcept
    : before_(std::exchange(lent, &generator)) {}

DrawFrom::~DrawFrom() { lent = before_; }

// A second replacement would find our own function in the tables.
bool install_drawing() {
    static const bool replaced = [] {
        const std::array imports{Import{kSymbol, reinterpret_cast<void*>(&default_generator)}};
        return replace_imports(imports).front() > 0;
    }();
    return replaced;
}

}  // namespace compat::shim
