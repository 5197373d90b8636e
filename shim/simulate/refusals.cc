#include "simulate/refusals.h"

#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/result_type_native.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>

#include "simulate/accelerator.h"
#include "simulate/note.h"
#include "simulate/tensors_of.h"

namespace compat::shim::simulate {
namespace {

// The names of scalarToMetalTypeString in OperationUtils.mm.
std::string_view metal_type(c10::ScalarType dtype) {
    switch (dtype) {
        case c10::ScalarType::Float:
            return "float";
        case c10::ScalarType::Half:
            return "half";
        case c10::ScalarType::BFloat16:
            return "bfloat";
        case c10::ScalarType::Int:
            return "int";
        case c10::ScalarType::Long:
            return "long";
        case c10::ScalarType::Short:
            return "short";
        case c10::ScalarType::Char:
            return "char";
        case c10::ScalarType::Byte:
            return "uchar";
        case c10::ScalarType::Bool:
            return "bool";
        case c10::ScalarType::UInt16:
            return "ushort";
        case c10::ScalarType::UInt32:
            return "uint";
        case c10::ScalarType::UInt64:
            return "ulong";
        case c10::ScalarType::ComplexHalf:
            return "half2";
        case c10::ScalarType::ComplexFloat:
            return "float2";
        case c10::ScalarType::Float8_e4m3fn:
            return "float8_e4m3fn";
        default:
            return "undefined";
    }
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at))
        text.replace(at, what.size(), with);
}

const c10::IValue* named(const c10::FunctionSchema& schema, Values values, std::string_view name) {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (schema.arguments()[i].name() == name) return &values[i];
    return nullptr;
}

bool is_tensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

// Null: no tensor, or an empty list of them.
const at::Tensor* first_tensor(const c10::IValue& value) {
    if (is_tensor(value)) return &value.toTensor();
    if (!holds_tensors(value)) return nullptr;
    for (const c10::IValue& item : value.toListRef())
        if (is_tensor(item)) return &item.toTensor();
    return nullptr;
}

// The dtype in which TensorIterator computes: that of all tensors but `out` together.
c10::ScalarType promoted(const c10::FunctionSchema& schema, Values values) {
    at::native::ResultTypeState state;
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!schema.arguments()[i].is_out())
            each_tensor(values[i], [&](const at::Tensor& tensor) {
                state = at::native::update_result_type_state(tensor, state);
            });
    return at::native::result_type(state);
}

std::string filled(const Refusal& rule, const c10::FunctionSchema& schema, Values values,
                   const at::Tensor* tensor, c10::ScalarType dtype) {
    std::string text = rule.words ? rule.words(schema, values) : std::string(rule.text);
    if (tensor) {
        replace_all(text, "{dtype}", c10::toString(dtype));
        if (is_tensor(values[0]))
            replace_all(text, "{input}", c10::toString(values[0].toTensor().scalar_type()));
        replace_all(text, "{device}", tensor->device().str());
        replace_all(text, "{metal}", metal_type(dtype));
    }
    const c10::IValue* reduce = named(schema, values, "reduce");
    if (reduce && reduce->isString()) replace_all(text, "{reduce}", reduce->toStringRef());
    return text;
}

bool is_alert(const Refusal& rule) {
    return rule.error == ErrorType::nondeterministic || rule.error == ErrorType::cublas;
}

// Errors about deterministic mode become warnings if the program asked for those.
void raise(ErrorType error, const std::string& text) {
    switch (error) {
        case ErrorType::nondeterministic:
            return at::Context::alertNotDeterministic(text);
        case ErrorType::cublas:
            if (at::globalContext().deterministicAlgorithmsWarnOnly()) {
                TORCH_WARN(text);
                return;
            }
            break;
        case ErrorType::not_implemented:
            TORCH_CHECK_NOT_IMPLEMENTED(false, text);
            break;
        case ErrorType::type:
            TORCH_CHECK_TYPE(false, text);
            break;
        case ErrorType::value:
            TORCH_CHECK_VALUE(false, text);
            break;
        case ErrorType::runtime:
            break;
    }
    TORCH_CHECK(false, text);
}

}  // namespace

std::span<const Refusal> Accelerator::refusals() const noexcept { return {}; }

std::span<const Computed> Accelerator::computed() const noexcept { return {}; }

std::span<const DispatchName> Accelerator::dispatch_names() const noexcept { return {}; }

std::span<const Ignored> Accelerator::ignored() const noexcept { return {}; }

std::span<const MetalKernel> Accelerator::metal_kernels() const noexcept { return {}; }

std::span<const Taken> Accelerator::taken() const noexcept { return {}; }

Rules::Rules(std::span<const Refusal> refusals, std::span<const Computed> computed,
             std::string_view op, const c10::FunctionSchema& schema) {
    for (const Refusal& rule : std::ranges::equal_range(refusals, op, {}, &Refusal::op)) {
        const unsigned system = accelerator().system();
        if (system < rule.since || (rule.until != 0 && system >= rule.until)) continue;
        int argument = -1;
        for (std::size_t i = 0; i < schema.arguments().size(); ++i)
            if (schema.arguments()[i].name() == rule.argument) argument = static_cast<int>(i);
        TORCH_INTERNAL_ASSERT(rule.argument.empty() || argument >= 0, op, " has no argument ",
                              rule.argument);
        refusals_.push_back({&rule, argument});
    }
    computed_ =
        std::span<const Computed>(std::ranges::equal_range(computed, op, {}, &Computed::op));
    for (const Taken& row : std::ranges::equal_range(accelerator().taken(), op, {}, &Taken::op))
        taken_ |= row.dtypes;
}

void Rules::check_each(const c10::OperatorHandle& op, Values values) const {
    for (const auto& [rule, position] : refusals_) {
        if (is_alert(*rule) && !at::globalContext().deterministicAlgorithms()) continue;
        const at::Tensor* tensor = nullptr;
        auto dtype = c10::ScalarType::Undefined;
        if (position >= 0) {
            tensor = first_tensor(values[static_cast<std::size_t>(position)]);
            if (!tensor) continue;
            dtype = rule->promoted ? promoted(op.schema(), values) : tensor->scalar_type();
            if (rule->dtypes != 0 && (rule->dtypes & bit(dtype)) == 0) continue;
            if (rule->elsewhere && tensor->device().type() == accelerator().type()) continue;
            if (rule->kernel && tensor->numel() == 0) continue;
        }
        if (rule->condition && !rule->condition(op.schema(), values)) continue;
        const std::string text = filled(*rule, op.schema(), values, tensor, dtype);
        if (is_alert(*rule) && at::globalContext().deterministicAlgorithmsWarnOnly()) {
            raise(rule->error, text);
            continue;
        }
        if (rule->check && !keeps_going()) return raise(rule->error, text);
        return refuse(c10::toString(op.operator_name()), [&] { raise(rule->error, text); });
    }
}

namespace {

constexpr std::string_view kMissing = "Failed to create function state object for: ";

// The kernel that a rule of the op names for some dtype; empty if none does.
std::string_view kernel_in_rules(const c10::OperatorHandle& op) {
    const std::string name = name_in_rules(op.schema());
    for (const Refusal& rule :
         std::ranges::equal_range(accelerator().refusals(), name, {}, &Refusal::op))
        if (rule.text.starts_with(kMissing) && !rule.condition)
            return rule.text.substr(kMissing.size());
    return {};
}

}  // namespace

void refuse_missing_kernel(const c10::OperatorHandle& op, Values values,
                           c10::ArrayRef<at::Tensor> given, std::string_view dtype) {
    std::string_view name = op.schema().name();
    name.remove_prefix(std::string_view("aten::").size());
    if (name.ends_with('_')) name.remove_suffix(1);
    const auto found =
        std::ranges::equal_range(accelerator().metal_kernels(), name, {}, &MetalKernel::op);
    const auto named_so = [&](const at::Tensor& tensor) {
        return c10::toString(tensor.scalar_type()) == dtype;
    };
    const auto tensor = std::ranges::find_if(given, named_so);
    if (tensor == given.end()) return;
    std::string kernel(found.empty() ? kernel_in_rules(op) : found.front().name);
    if (kernel.empty()) return;
    const bool dense = std::ranges::all_of(given, [&](const at::Tensor& each) {
        return each.is_contiguous() && each.sizes() == given[0].sizes();
    });
    replace_all(kernel, "{metal}", metal_type(tensor->scalar_type()));
    replace_all(kernel, "{layout}", dense ? "dense" : "strided");
    if (const c10::IValue* dim = named(op.schema(), values, "dim"); dim && dim->isInt())
        replace_all(
            kernel, "{axis}",
            dim->toInt() == -1 || dim->toInt() == tensor->dim() - 1 ? "innermost" : "outer");
    const c10::IValue* narrow = named(op.schema(), values, "out_int32");
    replace_all(kernel, "{index}", narrow && narrow->toBool() ? "int" : "long");
    TORCH_CHECK(false, kMissing, kernel);
}

std::string name_in_rules(const c10::FunctionSchema& schema) {
    std::string name = schema.name().substr(std::string_view("aten::").size());
    if (!schema.overload_name().empty()) name += "." + schema.overload_name();
    return name;
}

std::string_view dispatch_name(const c10::OperatorHandle& op) {
    const std::string name = name_in_rules(op.schema());
    const auto rules = std::ranges::equal_range(accelerator().refusals(), name, {}, &Refusal::op);
    for (const Refusal& rule : rules)
        if (const auto end = rule.text.find("\" not implemented for '");
            rule.text.starts_with('"') && end != std::string_view::npos)
            return rule.text.substr(1, end - 1);
    const auto named =
        std::ranges::equal_range(accelerator().dispatch_names(), name, {}, &DispatchName::op);
    return named.empty() ? std::string_view() : named.front().name;
}

void check_rules(const c10::OperatorHandle& op, Values values) {
    Rules(accelerator().refusals(), {}, name_in_rules(op.schema()), op.schema()).check(op, values);
}

const Computed* Rules::computed(c10::ScalarType dtype) const noexcept {
    for (const Computed& each : computed_)
        if (each.dtype == dtype) return &each;
    return nullptr;
}

namespace conditions {
namespace {

// Height and width of the input and of the requested output.
struct Sizes {
    std::int64_t in_height, in_width, out_height, out_width;

    [[nodiscard]] bool shrinks() const { return in_height >= out_height && in_width >= out_width; }
    [[nodiscard]] bool grows() const { return in_height <= out_height && in_width <= out_width; }
};

std::optional<Sizes> pooled(const c10::FunctionSchema& schema, Values values) {
    const c10::IValue* output = named(schema, values, "output_size");
    if (!output || !is_tensor(values[0])) return std::nullopt;
    const at::Tensor& input = values[0].toTensor();
    const auto size = output->toIntVector();
    if (input.dim() < 2 || size.size() != 2) return std::nullopt;
    const Sizes sizes{input.size(-2), input.size(-1), size[0], size[1]};
    if (std::min({sizes.in_height, sizes.in_width, sizes.out_height, sizes.out_width}) <= 0)
        return std::nullopt;
    return sizes;
}

bool reduces_by(const c10::FunctionSchema& schema, Values values,
                std::initializer_list<std::string_view> words) {
    const c10::IValue* reduce = named(schema, values, "reduce");
    return reduce && reduce->isString() &&
           std::ranges::find(words, std::string_view(reduce->toStringRef())) != words.end();
}

bool is(const c10::FunctionSchema& schema, Values values, std::string_view name, bool answer) {
    const c10::IValue* value = named(schema, values, name);
    return value && value->isBool() && value->toBool() == answer;
}

bool is_number(const c10::Argument& argument) {
    const c10::Type* type = argument.type().get();
    if (type->kind() == c10::TypeKind::OptionalType) type = type->containedTypes()[0].get();
    return type->kind() == c10::TypeKind::NumberType;
}

bool has_over_65536(c10::IntArrayRef sizes) {
    return std::ranges::any_of(sizes, [](std::int64_t size) { return size > (1 << 16); });
}

// The sizes of a convolution's result.
c10::SmallVector<std::int64_t, 5> convolved(const c10::FunctionSchema& schema, Values values) {
    const auto of = [&](std::string_view name, std::size_t dim) {
        const auto list = named(schema, values, name)->toIntVector();
        return list.empty() ? 0 : list[std::min(dim, list.size() - 1)];
    };
    const at::Tensor &input = values[0].toTensor(), &weight = values[1].toTensor();
    c10::SmallVector<std::int64_t, 5> sizes{input.size(0), weight.size(0)};
    for (std::int64_t i = 2; i < std::min(input.dim(), weight.dim()); ++i) {
        const auto dim = static_cast<std::size_t>(i - 2);
        const std::int64_t kernel = of("dilation", dim) * (weight.size(i) - 1) + 1;
        const std::int64_t stride = std::max<std::int64_t>(of("stride", dim), 1);
        sizes.push_back((input.size(i) + 2 * of("padding", dim) - kernel) / stride + 1);
    }
    return sizes;
}

bool differs(const c10::FunctionSchema& schema, Values values, std::string_view name) {
    const c10::IValue* other = named(schema, values, name);
    return other && is_tensor(*other) && is_tensor(values[0]) &&
           other->toTensor().scalar_type() != values[0].toTensor().scalar_type();
}

}  // namespace

std::optional<at::Tensor> maybe(const c10::IValue& value) {
    return is_tensor(value) ? std::optional(value.toTensor()) : std::nullopt;
}

bool one_of(at::ScalarType dtype, std::initializer_list<at::ScalarType> dtypes) {
    return std::ranges::find(dtypes, dtype) != dtypes.end();
}

bool powers_of_two(const std::vector<std::int64_t>& sizes) {
    return std::ranges::all_of(sizes, [](std::int64_t size) { return (size & (size - 1)) == 0; });
}

double as_printed(const at::Tensor& value) {
    const auto number = value.item<double>();
    return std::isnan(number) ? std::abs(number) : number;
}

bool rows_begin_at(const at::Tensor& matrix, std::int64_t multiple) {
    if (matrix.stride(0) != 1 && matrix.stride(1) != 1) return true;
    const std::int64_t leading = matrix.stride(matrix.stride(1) == 1 ? 0 : 1);
    return matrix.storage_offset() % multiple == 0 && leading % multiple == 0;
}

bool selects_sparse(const at::Tensor& tensor, std::int64_t dim) {
    const std::int64_t last = tensor.dim();
    if (!tensor.is_sparse() || dim < -last || dim >= last) return false;
    return c10::maybe_wrap_dim(dim, last) < tensor.sparse_dim();
}

bool same_dtypes(std::initializer_list<std::vector<at::Tensor>> lists) {
    const at::Tensor* first = nullptr;
    for (const auto& list : lists)
        for (const at::Tensor& tensor : list) {
            if (!first) first = &tensor;
            if (tensor.scalar_type() != first->scalar_type()) return false;
        }
    return true;
}

std::vector<std::int64_t> signal(const at::Tensor& tensor, const std::vector<std::int64_t>& dims,
                                 std::int64_t last) {
    std::vector<std::int64_t> sizes;
    for (const std::int64_t dim : dims) sizes.push_back(tensor.size(dim));
    if (last >= 0 && !sizes.empty()) sizes.back() = last;
    return sizes;
}

bool accumulates(const c10::FunctionSchema& schema, Values values) {
    return is(schema, values, "accumulate", true);
}

bool along_last(const c10::FunctionSchema& schema, Values values) {
    const std::int64_t dim = named(schema, values, "dim")->toInt();
    return dim == -1 || dim == std::max<std::int64_t>(values[0].toTensor().dim() - 1, 0);
}

bool bias_of_another_dtype(const c10::FunctionSchema& schema, Values values) {
    return differs(schema, values, "bias");
}

bool bool_exponent(const c10::FunctionSchema& schema, Values values) {
    const c10::IValue* exponent = named(schema, values, "exponent");
    return exponent && exponent->isBool();
}

// Whether the op computes in the dtype of its first tensor: no other tensor and no number widens
// it. Integers are not checked, because the trials pass them too.
bool common_dtype(const c10::FunctionSchema& schema, Values values) {
    const at::Tensor* first = nullptr;
    bool same = true;
    for (std::size_t i = 0; i < values.size() && same; ++i) {
        const auto& argument = schema.arguments()[i];
        if (first && argument.alias_info() && argument.alias_info()->isWrite()) continue;
        if (first && (values[i].isDouble() || values[i].isComplexDouble()) && is_number(argument))
            same = at::native::result_type(*first, values[i].toScalar()) == first->scalar_type();
        each_tensor(values[i], [&](const at::Tensor& tensor) {
            if (!first) first = &tensor;
            same = same && at::native::result_type(*first, tensor) == first->scalar_type();
        });
    }
    return first && same;
}

// For kernels that copy a first tensor without dimensions.
bool common_dtype_of_dimensions(const c10::FunctionSchema& schema, Values values) {
    for (const c10::IValue& value : values)
        if (const at::Tensor* first = first_tensor(value))
            return first->dim() > 0 && common_dtype(schema, values);
    return false;
}

// addmm_out_mps_impl and addr_out_mps_impl (LinearAlgebra.mm) read their factors as doubles. They
// do not if there is nothing to compute, nor for long products of complex numbers, which another
// kernel computes.
bool complex_factor(const c10::FunctionSchema&, Values values) {
    constexpr std::int64_t kLongProduct = 2048;
    const at::Tensor &one = values[1].toTensor(), &other = values[2].toTensor();
    if (one.numel() == 0 || other.numel() == 0) return false;
    if (one.dim() == 2 && one.size(1) > kLongProduct) return false;
    return std::any_of(values.begin(), values.end(), [](const c10::IValue& value) {
        return value.isComplexDouble() && value.toComplexDouble().imag() != 0.0;
    });
}

// at::Context::checkCuBLASConfigDeterministic, which reads the variable once.
bool cublas_may_differ(const c10::FunctionSchema&, Values) {
    static const bool differs = [] {
        const char* given = std::getenv("CUBLAS_WORKSPACE_CONFIG");
        const std::string_view config = given ? given : "";
        return config != ":4096:8" && config != ":16:8";
    }();
    return differs;
}

// Euclidean distances of many points are a matrix product (cdist_impl of Distance.cpp).
bool distances_one_by_one(const c10::FunctionSchema& schema, Values values) {
    constexpr std::int64_t kMany = 25, kProduct = 1;
    const c10::IValue *p = named(schema, values, "p"),
                      *mode = named(schema, values, "compute_mode");
    if (!p || p->toDouble() != 2.0) return true;
    const std::int64_t chosen = mode && mode->isInt() ? mode->toInt() : 0;
    const bool many =
        values[0].toTensor().size(-2) > kMany || values[1].toTensor().size(-2) > kMany;
    return !(chosen == kProduct || (chosen == 0 && many));
}

// addbmm_or_baddbmm_out_mps_impl (LinearAlgebra.mm) makes an MPSGraph placeholder of each operand.
// Only addbmm first checks whether there are no batches.
bool empty_batches(const c10::FunctionSchema& schema, Values values) {
    const c10::IValue *one = named(schema, values, "batch1"),
                      *other = named(schema, values, "batch2");
    return one->toTensor().numel() == 0 || other->toTensor().numel() == 0;
}

bool empty_matrices(const c10::FunctionSchema& schema, Values values) {
    return empty_batches(schema, values) &&
           named(schema, values, "batch1")->toTensor().size(0) != 0;
}

bool drops(const c10::FunctionSchema& schema, Values values) {
    return named(schema, values, "dropout_p")->toDouble() != 0.0;
}

// The kernel writes in place: into `out`, or into `self` where there is none.
bool extreme_into_strided(const c10::FunctionSchema& schema, Values values) {
    const c10::IValue* out = named(schema, values, "out");
    return reduces_by_extreme(schema, values) &&
           !(out ? *out : values[0]).toTensor().is_contiguous();
}

bool grows_and_shrinks(const c10::FunctionSchema& schema, Values values) {
    const auto sizes = pooled(schema, values);
    return sizes && !sizes->shrinks() && !sizes->grows();
}

bool grows_unevenly(const c10::FunctionSchema& schema, Values values) {
    const auto sizes = pooled(schema, values);
    return sizes && sizes->grows() && sizes->in_height < sizes->out_height &&
           (sizes->out_height % sizes->in_height != 0 || sizes->out_width % sizes->in_width != 0);
}

bool drawn_on_host(const c10::FunctionSchema& schema, Values values) {
    const c10::IValue* generator = named(schema, values, "generator");
    return generator && generator->isGenerator() && generator->toGenerator().device().is_cpu();
}

bool half_to_float(const c10::FunctionSchema& schema, Values values) {
    return is(schema, values, "half_to_float", true);
}

bool mat2_of_another_dtype(const c10::FunctionSchema& schema, Values values) {
    return differs(schema, values, "mat2");
}

// ATen/native/EmbeddingBag.h
bool maxima_of_bags(const c10::FunctionSchema& schema, Values values) {
    constexpr std::int64_t kMax = 2;
    return named(schema, values, "mode")->toInt() == kMax;
}

bool no_pivot(const c10::FunctionSchema& schema, Values values) {
    return is(schema, values, "pivot", false);
}

bool product_over_2_32(const c10::FunctionSchema&, Values values) {
    const at::Tensor &one = values[0].toTensor(), &other = values[1].toTensor();
    if (one.dim() != 3 || other.dim() != 3) return false;
    const std::int64_t rows = one.size(0) * one.size(1), columns = other.size(2);
    return columns > 0 && rows > (std::int64_t{1} << 32) / columns;
}

bool reduces(const c10::FunctionSchema& schema, Values values) {
    return named(schema, values, "reduction")->toInt() != 0;
}

bool reduces_by_extreme(const c10::FunctionSchema& schema, Values values) {
    return reduces_by(schema, values, {"amax", "amin"});
}

bool reduces_by_mean(const c10::FunctionSchema& schema, Values values) {
    return reduces_by(schema, values, {"mean"});
}

bool reduces_by_product(const c10::FunctionSchema& schema, Values values) {
    return reduces_by(schema, values, {"prod", "multiply"});
}

bool rounds_decimals(const c10::FunctionSchema& schema, Values values) {
    const c10::IValue* decimals = named(schema, values, "decimals");
    return decimals && decimals->isInt() && decimals->toInt() != 0;
}

// Each threadgroup has one row; the kernel for longer rows has another name (layer_norm_mps).
bool short_rows(const c10::FunctionSchema& schema, Values values) {
    constexpr std::int64_t kLongest = 4096;
    std::int64_t row = 1;
    for (const std::int64_t size : named(schema, values, "normalized_shape")->toIntVector())
        row *= size;
    return row <= kLongest;
}

// Upstream compares only the heights to see whether the output is smaller.
bool shrinks_unevenly(const c10::FunctionSchema& schema, Values values) {
    const auto sizes = pooled(schema, values);
    return sizes && (sizes->shrinks() || sizes->grows()) && sizes->in_height >= sizes->out_height &&
           (sizes->in_height % sizes->out_height != 0 || sizes->in_width % sizes->out_width != 0);
}

// A convolution's kernel checks its result, and the kernel for the input's gradient checks its
// argument. A transposed convolution runs the second, and its input's gradient the first
// (Convolution.mm).
bool sizes_over_65536(const c10::FunctionSchema& schema, Values values) {
    const bool transposed = is(schema, values, "transposed", true);
    const at::Tensor& input = named(schema, values, "input")->toTensor();
    if (const c10::IValue* mask = named(schema, values, "output_mask")) {
        if (!mask->toBoolList().get(0)) return false;
        return has_over_65536(transposed ? input.sizes() : values[0].toTensor().sizes());
    }
    return has_over_65536(transposed ? input.sizes() : convolved(schema, values));
}

bool transposed_3d(const c10::FunctionSchema& schema, Values values) {
    return is(schema, values, "transposed", true) && values[0].toTensor().dim() == 5;
}

bool weight_of_another_dtype(const c10::FunctionSchema& schema, Values values) {
    return differs(schema, values, "weight");
}

}  // namespace conditions
}  // namespace compat::shim::simulate
