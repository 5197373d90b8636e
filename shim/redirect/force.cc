#include "redirect/force.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "redirect/kernel.h"
#include "redirect/state.h"

namespace compat::shim {
namespace {

// torch.tensor and the dispatch to tensor subclasses disable the Python key while they run.
bool inside_torchs_own_call() {
    return c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::Python);
}

}  // namespace

bool forces() noexcept { return settings().mode == Mode::full && settings().host != Host::cpu; }

c10::Device force(OpId symbol) noexcept {
    const c10::Device cpu(c10::kCPU);
    const Decision decision = decide(cpu);
    if (decision.change != Change::none)
        Recorder::instance().note({symbol, event_kind(decision.change), cpu, decision.device});
    return decision.device;
}

bool asked_by_the_user() noexcept {
    return !inside_torchs_own_call() && !Recorder::instance().called_for_the_host();
}

void call_below(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    if (!forces()) return op.redispatchBoxed(keys & kAfterMode, stack);
    const c10::impl::ExcludeDispatchKeyGuard inside(kModeKey);
    op.redispatchBoxed(keys & kAfterMode, stack);
}

void force_fallback(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack) {
    call_below(op, keys, stack);
}

void LiftKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                            torch::jit::Stack* stack) {
    call_below(op, keys, stack);
    c10::IValue& result = stack->back();
    if (!result.isTensor() || !result.toTensor().device().is_cpu() || !asked_by_the_user()) return;
    const c10::impl::ExcludeDispatchKeyGuard inside(kModeKey);
    if (result.toTensor().is_pinned()) return;
    const c10::Device place = force(id_);
    if (place.is_cpu()) return;
    result = c10::IValue(result.toTensor().to(place));
}

}  // namespace compat::shim
