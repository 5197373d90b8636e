#include "redirect/registration.h"

#include <c10/core/TensorOptions.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "redirect/empty.h"
#include "redirect/force.h"
#include "redirect/kernel.h"
#include "redirect/state.h"
#include "runtime/silence.h"

namespace compat::shim {
namespace {

// Their device argument names the accelerator that uses the page-locked memory, not a tensor's
// device.
constexpr std::array<std::string_view, 3> kLeftAlone{"aten::is_pinned", "aten::pin_memory",
                                                     "aten::_pin_memory"};

// Never destroyed: removing kernels at process exit would race with its last ops.
std::vector<c10::RegistrationHandleRAII>& handles() {
    static auto* kept = new std::vector<c10::RegistrationHandleRAII>();
    return *kept;
}

void put(c10::Dispatcher& dispatcher, const c10::OperatorName& name, c10::DispatchKey key,
         c10::KernelFunction kernel) {
    handles().push_back(dispatcher.registerImpl(name, key, std::move(kernel), std::nullopt, nullptr,
                                                "compat_shim"));
}

std::string readable(const c10::OperatorName& name) {
    return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

template <class Kernel, class... Arguments>
void put_rewriting(c10::Dispatcher& dispatcher, const c10::OperatorHandle& op, c10::DispatchKey key,
                   const OpShape& shape, Arguments... arguments) {
    auto kernel =
        c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(shape, arguments...));
    if (readable(op.operator_name()) == kEmpty)
        kernel = c10::KernelFunction::makeFromUnboxedFunctor<false, EmptyKernel>(
            std::make_unique<EmptyKernel>(op, shape.id, key == kModeKey, std::move(kernel)));
    put(dispatcher, op.operator_name(), key, std::move(kernel));
}

bool left_alone(const std::string& name) {
    for (const auto op : kLeftAlone)
        if (name == op) return true;
    return false;
}

// If torch has a kernel for the host's own streams, it still handles those.
void put_record_stream(c10::Dispatcher& dispatcher) {
    const c10::OperatorName name{"aten::record_stream", ""};
    const auto op = dispatcher.findSchema(name);
    const auto host = c10::computeDispatchKey({}, {}, c10::Device(host_type()));
    if (!op) return;
    if (op->hasKernelForDispatchKey(host))
        put(dispatcher, name, kModeKey,
            c10::KernelFunction::makeFromBoxedFunction<&record_own_stream_kernel>());
    else
        put(dispatcher, name, host,
            c10::KernelFunction::makeFromBoxedFunction<&record_stream_kernel>());
}

Registered register_all() {
    Registered result;
    auto& dispatcher = c10::Dispatcher::singleton();
    const Silence silence;
    handles().push_back(dispatcher.registerFallback(
        kModeKey,
        forces() ? c10::KernelFunction::makeFromBoxedFunction<&force_fallback>()
                 : c10::KernelFunction::makeFallthrough(),
        "compat_shim"));
    if (forces())
        put(dispatcher, {"aten::lift_fresh", ""}, kModeKey,
            c10::KernelFunction::makeFromBoxedFunctor(
                std::make_unique<LiftKernel>(Recorder::instance().op_id("torch.tensor"))));
    if (!host_kind().serves_cuda) put_record_stream(dispatcher);
    for (const auto& name : dispatcher.getAllOpNames()) {
        const auto op = dispatcher.findSchema(name);
        if (!op || left_alone(name.name)) continue;
        OpShape shape = shape_of(op->schema());
        if (shape.device < 0) {
            if (fills_with_random_numbers(*op))
                put(dispatcher, name, kModeKey,
                    c10::KernelFunction::makeFromBoxedFunction<&random_fill_kernel>());
            continue;
        }
        shape.id = Recorder::instance().op_id(readable(name));
        // Only kernels made by torchgen can be replaced by rule; prims have their own.
        const bool selects = name.name.starts_with("aten::") &&
                             op->hasKernelForDispatchKey(c10::DispatchKey::BackendSelect);
        put_rewriting<ModeKernel>(dispatcher, *op, kModeKey, shape, selects);
        ++result.mode;
        if (selects) {
            put_rewriting<BackendSelectKernel>(dispatcher, *op, c10::DispatchKey::BackendSelect,
                                               shape);
            ++result.backend_select;
        }
    }
    return result;
}

}  // namespace

Registered register_kernels() {
    static const Registered once = register_all();
    return once;
}

void include_this_thread(bool included) {
    c10::impl::tls_set_dispatch_key_included(kModeKey, included);
}

bool this_thread_included() { return c10::impl::tls_is_dispatch_key_included(kModeKey); }

}  // namespace compat::shim
