#include "redirect/fallbacks.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/CPUFallback.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "record/recorder.h"
#include "redirect/state.h"

namespace compat::shim {
namespace {

constexpr auto kFallbackKey = c10::DispatchKey::MPS;
// Ops with a kernel under one of these do not reach the fallback.
constexpr std::array kOwnKernels{kFallbackKey, c10::DispatchKey::CompositeImplicitAutograd,
                                 c10::DispatchKey::CompositeExplicitAutograd,
                                 c10::DispatchKey::CompositeExplicitAutogradNonFunctional};

// torch reads it so (aten/src/ATen/mps/MPSFallback.mm): on for any number but 0.
bool fallback_is_on() {
    const char* value = std::getenv("PYTORCH_ENABLE_MPS_FALLBACK");
    return value && std::atoi(value) != 0;
}

class FallbackKernel final : public c10::OperatorKernel {
  public:
    explicit FallbackKernel(OpId id) : id_(id) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                    torch::jit::Stack* stack) const {
        TORCH_WARN_ONCE("The operator '", op.schema().operator_name(),
                        "' is not currently supported on the MPS backend and will fall back to "
                        "run on the CPU. This may have performance implications.");
        Recorder::instance().note(
            {id_, EventKind::fallback, c10::Device(c10::kMPS, 0), c10::Device(c10::kCPU)});
        at::native::cpu_fallback(op, stack);
    }

  private:
    OpId id_;
};

bool falls_back(const c10::OperatorHandle& op) {
    for (const auto key : kOwnKernels)
        if (op.hasKernelForDispatchKey(key)) return false;
    return op.hasKernelForDispatchKey(c10::DispatchKey::CPU);
}

}  // namespace

void count_fallbacks() {
    static bool done = false;
    if (!host_kind().has_fallback || !fallback_is_on() || std::exchange(done, true)) return;
    // Never destroyed: removing kernels at process exit would race with its last ops.
    static auto* handles = new std::vector<c10::RegistrationHandleRAII>();
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const auto& name : dispatcher.getAllOpNames()) {
        const auto op = dispatcher.findSchema(name);
        if (!op || !name.name.starts_with("aten::") || !falls_back(*op)) continue;
        const OpId id = Recorder::instance().op_id(c10::toString(name));
        handles->push_back(dispatcher.registerImpl(
            name, kFallbackKey,
            c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<FallbackKernel>(id)),
            std::nullopt, nullptr, "compat_shim"));
    }
}

}  // namespace compat::shim
