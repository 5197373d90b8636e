#include "redirect/kernel.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/stack.h>
#include <c10/core/TensorOptions.h>

#include <algorithm>
#include <optional>

#include "redirect/cuda.h"
#include "redirect/force.h"
#include "redirect/override.h"
#include "redirect/state.h"

namespace compat::shim {
namespace {

const c10::DispatchKeySet kAfterBackendSelect(c10::DispatchKeySet::FULL_AFTER,
                                              c10::DispatchKey::BackendSelect);

c10::IValue& argument(const OpShape& shape, torch::jit::Stack& stack, int position) {
    return torch::jit::peek(stack, static_cast<std::size_t>(position),
                            static_cast<std::size_t>(shape.arguments));
}

// `.to("cuda")` of a CPU tensor is a new tensor on CUDA. On the CPU the same call would return the
// tensor itself, and writing to one would change the other.
void keep_copy_semantics(const OpShape& shape, torch::jit::Stack& stack, c10::Device from,
                         c10::Device to) {
    if (shape.copy < 0 || !to.is_cpu() || from.is_cpu()) return;
    const c10::IValue& self = argument(shape, stack, 0);
    if (self.isTensor() && self.toTensor().defined() && self.toTensor().device().is_cpu())
        argument(shape, stack, shape.copy) = c10::IValue(true);
}

// Whether a request for the CPU or without a device is redirected, in a process that forces.
// Numbers are drawn on their generator's device, and pages are locked on the host.
bool goes_along(const OpShape& shape, torch::jit::Stack& stack) {
    if (shape.generator >= 0) {
        const c10::IValue& generator = argument(shape, stack, shape.generator);
        if (generator.isGenerator() && generator.toGenerator().defined())
            return generator.toGenerator().device().type() == host_type();
    }
    if (shape.pinned >= 0) {
        const c10::IValue& pinned = argument(shape, stack, shape.pinned);
        if (pinned.isBool() && pinned.toBool()) return false;
    }
    return asked_by_the_user();
}

// Returns whether the host stands for CUDA from here on. It does if CUDA was asked for. It also
// does if no device was named and the first tensor (`randn_like(x)`, `x.new_empty(3)`) was made as
// CUDA's. `may_force`: the request may be the user's.
bool rewrite(const OpShape& shape, torch::jit::Stack& stack, bool may_force) {
    c10::IValue& value = argument(shape, stack, shape.device);
    if (!value.isDevice()) {
        const c10::IValue& first = argument(shape, stack, 0);
        if (first.isTensor()) return made_as_cuda(first.toTensor());
        if (!may_force || !forces()) return false;
    }
    const c10::Device from = value.isDevice() ? value.toDevice() : c10::Device(c10::kCPU);
    const bool forced = forces() && from.is_cpu() && !is_toggle(from);
    if (forced && !(may_force && goes_along(shape, stack))) return false;
    c10::Device to = from;
    const bool as_cuda = redirect_request(shape.id, to);
    value = c10::IValue(to);
    keep_copy_semantics(shape, stack, from, to);
    return as_cuda;
}

template <class T>
T int_argument(const OpShape& shape, torch::jit::Stack& stack, int position, T otherwise) {
    if (position < 0) return otherwise;
    const c10::IValue& value = argument(shape, stack, position);
    return value.isInt() ? static_cast<T>(value.toInt()) : otherwise;
}

void select_backend(const OpShape& shape, const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack& stack) {
    const auto dtype = int_argument(shape, stack, shape.dtype, c10::ScalarType::Float);
    const auto layout = int_argument(shape, stack, shape.layout, c10::Layout::Strided);
    const c10::IValue& value = argument(shape, stack, shape.device);
    const c10::Device device = value.isDevice() ? value.toDevice() : c10::Device(c10::kCPU);
    // The backend's key alone, or added to the tensors' keys. If one choice served both, ops would
    // recurse without end under the Python dispatcher.
    const c10::DispatchKeySet backend(c10::computeDispatchKey(dtype, layout, device));
    op.redispatchBoxed(shape.tensors ? (keys & kAfterBackendSelect) | backend : backend, &stack);
}

bool is_of_kind(const c10::Argument& argument, c10::TypeKind kind) {
    const c10::Type& type = *argument.type();
    return (type.kind() == c10::TypeKind::OptionalType ? type.containedTypes()[0]->kind()
                                                       : type.kind()) == kind;
}

}  // namespace

bool redirect_request(OpId op, c10::Device& device) {
    const c10::Device from = device;
    const Decision decision = decide(from);
    if (decision.change != Change::none)
        Recorder::instance().note({op, event_kind(decision.change), from, decision.device});
    else
        note_named_host(from);
    device = decision.device;
    return from.is_cuda() && device.is_cpu() && host_type() == c10::kCPU;
}

bool comes_to_backend_select(c10::DispatchKeySet keys) {
    return (keys & kAfterMode).highestPriorityTypeId() == c10::DispatchKey::BackendSelect;
}

// Most ops have no device: thousands of schemas are read when the process starts.
OpShape shape_of(const c10::FunctionSchema& schema) {
    OpShape shape;
    const auto& arguments = schema.arguments();
    const auto device = std::ranges::find_if(arguments, [](const c10::Argument& argument) {
        return is_of_kind(argument, c10::TypeKind::DeviceObjType);
    });
    if (device == arguments.end()) return shape;
    shape.arguments = static_cast<int>(arguments.size());
    shape.device = static_cast<int>(device - arguments.begin());
    for (int i = 0; i < shape.arguments; ++i) {
        const auto& argument = arguments[static_cast<std::size_t>(i)];
        const c10::Type& type = *argument.type();
        shape.tensors |= type.kind() == c10::TypeKind::TensorType ||
                         (type.kind() == c10::TypeKind::ListType &&
                          type.containedTypes()[0]->kind() == c10::TypeKind::TensorType);
        if (argument.name() == "dtype") shape.dtype = i;
        if (argument.name() == "layout") shape.layout = i;
        if (argument.name() == "pin_memory") shape.pinned = i;
        if (argument.name() == "generator") shape.generator = i;
        if (argument.name() == "copy" && schema.name() == "aten::to") shape.copy = i;
    }
    return shape;
}

EventKind event_kind(Change change) noexcept {
    switch (change) {
        case Change::fold:
            return EventKind::fold;
        case Change::override_:
            return EventKind::override_;
        case Change::none:
        case Change::redirect:
            return EventKind::redirect;
    }
    return EventKind::redirect;
}

void ModeKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                            torch::jit::Stack* stack) {
    std::optional<AsCuda> as_cuda;
    if (rewrite(shape_, *stack, true)) as_cuda.emplace();
    if (selects_ && !forces() && comes_to_backend_select(keys))  // one kernel of ours less to call
        select_backend(shape_, op, keys, *stack);
    else
        call_below(op, keys, stack);
}

void BackendSelectKernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                                     torch::jit::Stack* stack) {
    std::optional<AsCuda> as_cuda;
    if (rewrite(shape_, *stack, false)) as_cuda.emplace();
    select_backend(shape_, op, keys, *stack);
}

bool fills_with_random_numbers(const c10::OperatorHandle& op) {
    const auto& arguments = op.schema().arguments();
    const auto* alias = arguments.empty() ? nullptr : arguments.front().alias_info();
    return alias && alias->isWrite() && op.hasTag(at::Tag::nondeterministic_seeded) &&
           is_of_kind(arguments.front(), c10::TypeKind::TensorType);
}

void random_fill_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                        torch::jit::Stack* stack) {
    const c10::IValue& self = torch::jit::peek(*stack, 0, op.schema().arguments().size());
    std::optional<AsCuda> as_cuda;
    if (self.isTensor() && made_as_cuda(self.toTensor())) as_cuda.emplace();
    call_below(op, keys, stack);
}

void record_stream_kernel(const c10::OperatorHandle&, c10::DispatchKeySet,
                          torch::jit::Stack* stack) {
    torch::jit::drop(*stack, 2);
}

void record_own_stream_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                              torch::jit::Stack* stack) {
    const c10::IValue& stream = torch::jit::peek(*stack, 1, 2);
    if (stream.isStream() && stream.toStream().device_type() == host_type())
        call_below(op, keys, stack);
    else
        record_stream_kernel(op, keys, stack);
}

}  // namespace compat::shim
