#include "simulate/kernel.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/core/stack.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/drawing.h"
#include "simulate/cpu_aliases.h"
#include "simulate/device_checks.h"
#include "simulate/dtype_promotion.h"
#include "simulate/generator.h"
#include "simulate/kernels/assertions.h"
#include "simulate/kernels/zero_division.h"
#include "simulate/memory.h"
#include "simulate/note.h"
#include "simulate/tensors_of.h"
#include "simulate/trace/trace.h"

namespace compat::shim::simulate {
namespace {

using Arguments = c10::ArrayRef<Kernel::Argument>;

c10::SmallVector<Kernel::Argument, 12> arguments_of(const c10::FunctionSchema& schema) {
    c10::SmallVector<Kernel::Argument, 12> arguments;
    for (const auto& each : schema.arguments()) {
        const c10::Type* type = each.type().get();
        if (type->kind() == c10::TypeKind::OptionalType) type = type->containedTypes()[0].get();
        Kernel::Argument argument;
        switch (type->kind()) {
            case c10::TypeKind::TensorType:
                argument.kind = Kernel::Kind::tensor;
                break;
            case c10::TypeKind::ListType: {
                const c10::Type* item = type->containedTypes()[0].get();
                argument.optional_items = item->kind() == c10::TypeKind::OptionalType;
                if (argument.optional_items || item->kind() == c10::TypeKind::ListType)
                    item = item->containedTypes()[0].get();
                if (item->kind() == c10::TypeKind::TensorType)
                    argument.kind = Kernel::Kind::tensors;
                break;
            }
            case c10::TypeKind::DeviceObjType:
                argument.kind = Kernel::Kind::device;
                break;
            case c10::TypeKind::GeneratorType:
                argument.kind = Kernel::Kind::generator;
                break;
            default:
                break;
        }
        argument.written = each.alias_info() && each.alias_info()->isWrite();
        arguments.push_back(argument);
    }
    return arguments;
}

bool has_generator(Arguments arguments) {
    return std::ranges::any_of(arguments, [](const Kernel::Argument& argument) {
        return argument.kind == Kernel::Kind::generator;
    });
}

bool draws_without_generator(const c10::OperatorHandle& op, Arguments arguments) {
    return !has_generator(arguments) && op.hasTag(at::Tag::nondeterministic_seeded);
}

// One call of an operator: its arguments and what is known of them.
class Call {
  public:
    Call(const c10::OperatorHandle& op, torch::jit::Stack& stack, Arguments arguments)
        : op_(op),
          stack_(stack),
          arguments_(arguments),
          base_(stack.size() - arguments.size()),
          results_(accelerator().device(current_device())),
          aliases_(results_) {}

    void check(const Operator& row);
    // For ops with a Generator argument.
    void check_drawn();
    void choose_results_device();
    [[nodiscard]] Values values() const { return Values(stack_).slice(base_, arguments_.size()); }
    // Tells the trace if the device's kernel has the host wait.
    void trace_wait(const Operator& row, bool waits);
    // Makes dtypes and errors the CPU's instead of the device's.
    void fall_back() { falls_back_ = true; }
    void to_cpu(const Rules* rules);
    void run(bool seeded, bool dense, bool divides, Computation computation);
    void to_device();

  private:
    struct Given {
        at::Tensor tensor, alias;
        bool written;
    };

    [[nodiscard]] c10::IValue& value(std::size_t position) { return stack_[base_ + position]; }
    void check_one_device(const Operator& row);
    [[nodiscard]] bool draws_nothing() const;
    void check_indices();
    void check_types();
    void note_items();
    void lend_generator(c10::IValue& value);
    void run_on_aliases(bool seeded, bool dense, bool divides, Computation computation);
    [[nodiscard]] at::Tensor alias_of(const at::Tensor& tensor, bool written, const Rules* rules);

    const c10::OperatorHandle& op_;
    torch::jit::Stack& stack_;
    Arguments arguments_;
    std::size_t base_;
    std::optional<c10::Device> common_;
    c10::SmallVector<c10::Device, 4>
        items_;  // of the first list, if its items may be on different devices
    c10::Device results_;
    bool falls_back_ = false;
    std::optional<DtypePromotion> promotion_;
    CpuAliases aliases_;
    c10::SmallVector<Given, 6> given_;
};

void Call::check(const Operator& row) {
    switch (row.check) {
        case Check::common:
        case Check::strict:
            return check_one_device(row);
        case Check::indices:
            return check_indices();
        case Check::types:
            return check_types();
        case Check::per_item:
            return note_items();
    }
}

void Call::check_one_device(const Operator& row) {
    const bool strict = row.check == Check::strict;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
        if (arguments_[i].kind != Kernel::Kind::tensor &&
            arguments_[i].kind != Kernel::Kind::tensors)
            continue;
        each_tensor(value(i), [&](const at::Tensor& tensor) {
            const c10::Device device = tensor.device();
            if (!strict && tensor.dim() == 0 && device.is_cpu()) return;
            if (!common_) {
                common_ = device;
            } else if (*common_ != device) {
                if (strict)
                    c10::impl::common_device_check_failure(
                        *common_, tensor, std::string(row.wrapper).c_str(),
                        op_.schema().arguments()[i].name().c_str());
                refuse_two_devices(*common_, device);
            }
        });
    }
}

void Call::check_indices() {
    const at::Tensor& self = value(0).toTensor();
    common_ = self.device();
    each_tensor(value(1), [&](const at::Tensor& index) {
        TORCH_CHECK(index.device().is_cpu() || index.device() == self.device(),
                    "indices should be either on ", at::kCPU,
                    " or on the same device as the indexed tensor (", self.device(), ")");
    });
    check_assigned(op_.schema(), values());
}

// The check of check_input_same_type_as_parameters in ATen/native/Convolution.cpp.
void Call::check_types() {
    const at::Tensor& input = value(0).toTensor();
    constexpr std::string_view kNames[] = {"input", "weight", "bias"};
    for (std::size_t i = 1; i < 3 && i < arguments_.size(); ++i) {
        if (!value(i).isTensor() || !value(i).toTensor().defined()) continue;
        const at::Tensor& other = value(i).toTensor();
        TORCH_CHECK(input.options().type_equal(other.options()), "Input type (", input.toString(),
                    ") and ", kNames[i], " type (", other.toString(), ") should be the same");
    }
    common_ = input.device();
}

void Call::note_items() {
    for (std::size_t i = 0; i < arguments_.size() && items_.empty(); ++i)
        if (arguments_[i].kind == Kernel::Kind::tensors)
            each_tensor(value(i),
                        [&](const at::Tensor& tensor) { items_.push_back(tensor.device()); });
    if (!items_.empty()) common_ = items_[0];
}

// The dispatcher reads a generator's device as it reads a tensor's. So a generator of the device
// brings host tensors here.
void Call::check_drawn() {
    bool host = false, ours = false;
    for (std::size_t i = 0; i < arguments_.size(); ++i)
        each_tensor(value(i), [&](const at::Tensor& tensor) {
            (CpuAliases::is_ours(tensor) ? ours : host) = true;
        });
    if (ours || !host) return;
    results_ = kHostDevice;
    accelerator().refuse_host_tensors();
}

void Call::choose_results_device() {
    const c10::DeviceType ours = accelerator().type();
    if (common_ && common_->type() == ours) results_ = *common_;
    if (!common_)
        for (std::size_t i = 0; i < arguments_.size(); ++i)
            each_tensor(value(i), [&](const at::Tensor& tensor) {
                if (CpuAliases::is_ours(tensor)) results_ = tensor.device();
            });
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
        if (arguments_[i].kind != Kernel::Kind::device || !value(i).isDevice()) continue;
        const c10::Device asked = value(i).toDevice();
        if (asked.type() == ours) {
            results_ = with_index(asked);
            check_index(results_.index());
        } else if (asked.is_cpu()) {
            results_ = asked;
        }
        break;
    }
    aliases_.results_go_to(results_);
}

// Indices wait only for a mask, whose elements they count, and repeat_interleave only without the
// size of its result.
void Call::trace_wait(const Operator& row, bool waits) {
    if (row.check == Check::indices) {
        waits = false;
        each_tensor(value(1), [&](const at::Tensor& index) {
            waits |= index.scalar_type() == at::kBool || index.scalar_type() == at::kByte;
        });
    }
    for (std::size_t i = 0; waits && i < arguments_.size(); ++i)
        waits = op_.schema().arguments()[i].name() != "output_size" || value(i).isNone();
    if (waits && !results_.is_cpu()) trace_host_wait(results_);
}

void Call::to_cpu(const Rules* rules) {
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
        c10::IValue& each = value(i);
        switch (arguments_[i].kind) {
            case Kernel::Kind::tensor:
            case Kernel::Kind::tensors:
                change_tensors(each, arguments_[i].optional_items,
                               [&](const at::Tensor& tensor, std::size_t) {
                                   return alias_of(tensor, arguments_[i].written, rules);
                               });
                break;
            case Kernel::Kind::device:
                if (each.isDevice() && each.toDevice().type() == accelerator().type())
                    each = kHostDevice;
                break;
            case Kernel::Kind::generator:
                lend_generator(each);
                break;
            case Kernel::Kind::other:
                if (arguments_[i].ignored) each = {};
                break;
        }
    }
}

// A fallback of torch leaves the generator alone: the CPU's kernel accepts the CPU's generators.
// Most ops return an empty tensor before they look at the generator (CHECK_EMPTY_AND_RETURN in
// ATen/native/DistributionTemplates.h).
void Call::lend_generator(c10::IValue& value) {
    if (falls_back_) return;
    if (draws_nothing()) {
        value = {};
        return;
    }
    if (value.isGenerator() && !(results_.is_cpu() && value.toGenerator().device().is_cpu()))
        value = lend(value.toGenerator());
    else if (!results_.is_cpu())
        value = lend(default_generator(results_.index()));
}

bool Call::draws_nothing() const {
    constexpr std::array<std::string_view, 4> kLook{"aten::poisson", "aten::_standard_gamma",
                                                    "aten::binomial", "aten::_sample_dirichlet"};
    if (std::ranges::count(kLook, op_.schema().name()) > 0) return false;
    const auto is_empty = [](const c10::IValue& value) {
        return value.isTensor() && value.toTensor().defined() && value.toTensor().numel() == 0;
    };
    const Values given = values();
    if (arguments_[0].written) return is_empty(given[0]);
    if (given[0].isInt()) return given[0].toInt() == 0;  // randperm
    for (std::size_t i = 0; i < given.size(); ++i)       // one of two may be broadcast
        if (!arguments_[i].written && is_empty(given[i])) return true;
    return false;
}

at::Tensor Call::alias_of(const at::Tensor& tensor, bool written, const Rules* rules) {
    if (!CpuAliases::is_ours(tensor)) return tensor;
    if (rules && !rules->takes(tensor.scalar_type()))
        accelerator().check_argument(op_, values(), tensor);
    if (const auto found = promotion(tensor.scalar_type(), rules);
        found && !falls_back_ && (!promotion_ || c10::isFloatingType(found->narrow)))
        promotion_ = found;
    at::Tensor alias = aliases_.to_cpu(tensor);
    given_.push_back({tensor, alias, written});
    return alias;
}

// Errors about dtypes, and errors that the device asserts, become the device's errors.
void Call::run(bool seeded, bool dense, bool divides, Computation computation) {
    try {
        run_on_aliases(seeded, dense, divides, computation);
    } catch (const c10::Error& error) {
        if (!falls_back_ && !given_.empty() && !keeps_going()) check_asserted(op_, error);
        if (falls_back_ || results_.is_cpu() || !names_the_cpu(error)) throw;
        c10::SmallVector<at::Tensor, 6> given;
        for (const Given& each : given_) given.push_back(each.tensor);
        const bool kept = stack_.size() >= base_ + arguments_.size();
        rethrow_as_device(op_, error, kept ? values() : Values(), given);
    }
}

void Call::run_on_aliases(bool seeded, bool dense, bool divides, Computation computation) {
    std::optional<at::Generator> lent;
    std::optional<DrawFrom> drawing;
    if (seeded && !results_.is_cpu() && !falls_back_) {
        lent = lend(default_generator(results_.index()));
        drawing.emplace(*lent);
    }
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const KernelMemory memory(results_);
    const auto call = [&] {
        if (computation)
            computation(op_, stack_);
        else if (dense && !aliases_.rebuilt())
            op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack_);
        else
            op_.callBoxed(&stack_);
    };
    if (!promotion_ && !divides) return call();
    std::vector<c10::IValue> before(stack_.begin() + static_cast<std::ptrdiff_t>(base_),
                                    stack_.end());
    try {
        call();
    } catch (const c10::Error& error) {
        stack_.resize(base_);
        if (divides && divided_by_zero(error))
            run_dividing_by_zero(op_, stack_, std::move(before));
        else if (promotion_ && lacks_dtype(error))
            run_promoted(op_, stack_, before, *promotion_);
        else
            throw;
    }
}

void Call::to_device() {
    aliases_.adopt_resized();
    for (const Given& each : given_)
        if (each.written) aliases_.write_back(each.tensor, each.alias);
    const std::size_t returns = op_.schema().returns().size();
    for (std::size_t i = stack_.size() - returns; i < stack_.size(); ++i)
        change_tensors(stack_[i], false, [&](const at::Tensor& result, std::size_t k) {
            for (const Given& each : given_)
                if (each.alias.is_same(result)) return each.tensor;
            const c10::Device device = k < items_.size() ? items_[k] : results_;
            if (device.is_cpu()) return result;
            aliases_.results_go_to(device);
            return aliases_.to_device(result);
        });
}

std::atomic<std::uint64_t> kernels{0};

template <class Row>
c10::OperatorName name_of(const Row& row) {
    const std::size_t dot = row.name.find('.');
    return {"aten::" + std::string(row.name.substr(0, dot)),
            dot == std::string_view::npos ? "" : std::string(row.name.substr(dot + 1))};
}

struct ByName {
    template <class Row>
    bool operator()(const Row& a, const Row& b) const {
        return std::tie(a.first.name, a.first.overload_name, a.second) <
               std::tie(b.first.name, b.first.overload_name, b.second);
    }
};

void put(const c10::OperatorName& name, c10::DispatchKey key, c10::KernelFunction kernel) {
    // Never destroyed: removing kernels at process exit would race with its last ops.
    static auto* handles = new std::vector<c10::RegistrationHandleRAII>();
    handles->push_back(c10::Dispatcher::singleton().registerImpl(
        name, key, std::move(kernel), std::nullopt, nullptr, "compat_shim simulate"));
}

// compat_shim/refusal.py has the same words.
void not_simulated(const c10::OperatorHandle& op, torch::jit::Stack*) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false, op.operator_name(), " is not simulated: ", c10::DeviceTypeName(accelerator().type()),
        " has a kernel for it, and the CPU, which computes for a simulated device, has none; run "
        "this part on the device itself");
}

class Checked final : public c10::OperatorKernel {
  public:
    Checked(const c10::OperatorHandle& op, c10::KernelFunction kernel)
        : rules_(accelerator().refusals(), {}, name_in_rules(op.schema()), op.schema()),
          kernel_(std::move(kernel)) {}

    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                    torch::jit::Stack* stack) const {
        rules_.check(op, torch::jit::last(*stack, op.schema().arguments().size()));
        kernel_.callBoxed(op, keys, stack);
    }

  private:
    Rules rules_;
    c10::KernelFunction kernel_;
};

// The kernel, after a check of the op's rules.
c10::KernelFunction checked(const c10::OperatorHandle& op, c10::KernelFunction kernel) {
    return c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<Checked>(op, std::move(kernel)));
}

// The CPU has the composite as its kernel where it has none of its own.
void run_composite(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

}  // namespace

Kernel::Kernel(const Operator& row, const c10::OperatorHandle& op)
    : row_(row),
      arguments_(arguments_of(op.schema())),
      rules_(accelerator().refusals(), accelerator().computed(), row.name, op.schema()),
      draws_(has_generator(arguments_)),
      seeded_(draws_without_generator(op, arguments_)),
      divides_(divides(row.name)),
      waits_(op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape)),
      computation_(accelerator().computation(row.name)) {
    for (const Ignored& each : accelerator().ignored())
        for (std::size_t i = 0; each.op == row.name && i < arguments_.size(); ++i)
            arguments_[i].ignored |= op.schema().arguments()[i].name() == each.argument;
}

void Kernel::operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                        torch::jit::Stack* stack) const {
    begin_kernel();
    Call call(op, *stack, arguments_);
    rules_.check(op, call.values());
    go_on_past(op, [&] {
        call.check(row_);
        if (draws_) call.check_drawn();
    });
    call.choose_results_device();
    if (is_traced()) call.trace_wait(row_, waits_);
    call.to_cpu(&rules_);
    call.run(seeded_, row_.key == accelerator().keys().dense, divides_, computation_);
    call.to_device();
}

void count_kernel() noexcept { kernels.fetch_add(1, std::memory_order_relaxed); }

void begin_kernel() {
    check_not_lost();
    begin_use();
    count_kernel();
}

std::uint64_t take_kernel_count() noexcept { return kernels.exchange(0); }

void register_operators(std::span<const Operator> operators) {
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const Operator& row : operators)
        if (const auto op = dispatcher.findSchema(name_of(row)))
            put(op->operator_name(), row.key,
                c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(row, *op)));
}

void add_checked(const char* name, c10::KernelFunction kernel) {
    const auto op = c10::Dispatcher::singleton().findSchema(name_of(Unsimulated{name, {}}));
    if (!op) return;
    put(op->operator_name(), accelerator().keys().dense, checked(*op, std::move(kernel)));
}

void refuse_unsimulated(std::span<const Unsimulated> kernels_of_device) {
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const Unsimulated& row : kernels_of_device)
        if (const auto op = dispatcher.findSchema(name_of(row)))
            put(op->operator_name(), row.key,
                c10::KernelFunction::makeFromBoxedFunction<&not_simulated>());
}

void refuse_symmetric_memory() {
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const auto& name : dispatcher.getAllOpNames())
        if (name.name.starts_with("symm_mem::"))
            put(name, accelerator().keys().dense,
                c10::KernelFunction::makeFromBoxedFunction<&not_simulated>());
}

std::vector<c10::OperatorName> collectives() {
    std::vector<c10::OperatorName> names;
    for (const auto& name : c10::Dispatcher::singleton().getAllOpNames())
        if (name.name.starts_with("c10d::")) names.push_back(name);
    return names;
}

void withdraw_other_kernels(std::span<const Operator> operators, const Accelerator::Keys& keys) {
    auto& dispatcher = c10::Dispatcher::singleton();
    const auto empty = dispatcher.findSchema({"aten::empty", "memory_format"});
    if (!empty || !empty->hasKernelForDispatchKey(keys.dense)) return;
    std::set<std::pair<c10::OperatorName, c10::DispatchKey>, ByName> ours;
    for (const Operator& row : operators) ours.emplace(name_of(row), row.key);
    for (const auto& name : dispatcher.getAllOpNames()) {
        const auto op = dispatcher.findSchema(name);
        if (!op || !name.name.starts_with("aten::")) continue;
        const bool composite =
            op->hasKernelForDispatchKey(keys.dense) &&
            op->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd) &&
            !op->hasKernelForDispatchKey(c10::DispatchKey::CPU);
        for (const auto key :
             {keys.dense, keys.sparse, keys.sparse_csr, keys.nested, keys.quantized})
            if (op->hasKernelForDispatchKey(key) && !ours.contains({name, key}))
                put(name, key, c10::KernelFunction::makeFromBoxedFunction<&not_simulated>());
        // With gradients by its parts, as in a build without devices.
        if (composite)
            for (const auto key : {keys.dense, keys.autograd})
                put(name, key,
                    checked(*op, c10::KernelFunction::makeFromBoxedFunction<&run_composite>()));
    }
}

// The beginning of the dispatcher's text for an op without a kernel.
void refuse_call(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    go_on_past(op, [&] {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "Could not run '", op.operator_name(),
                                    "' with arguments from the '",
                                    c10::toString(accelerator().keys().dense),
                                    "' backend. The simulated device has no kernel for it.");
    });
    run_on_cpu(op, stack);
}

namespace {

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack, bool falls_back) {
    begin_use();
    const auto arguments = arguments_of(op.schema());
    Call call(op, *stack, arguments);
    if (falls_back) call.fall_back();
    call.choose_results_device();
    call.to_cpu(nullptr);
    call.run(draws_without_generator(op, arguments), /*dense=*/true, /*divides=*/false,
             /*computation=*/nullptr);
    call.to_device();
}

}  // namespace

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    run_on_host(op, stack, /*falls_back=*/false);
}

void fall_back_to_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    run_on_host(op, stack, /*falls_back=*/true);
}

}  // namespace compat::shim::simulate
