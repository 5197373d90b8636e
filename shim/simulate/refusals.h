// Dtypes, sizes and options that upstream's kernels refuse. The rules are data (mps_refusals.json,
// cuda_refusals.json, cuda_dtypes.json), made into tables by refusals.py. This file has their types
// and checks a call against them. Ops without a kernel are in the operators' table (accelerator.h).
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace compat::shim::simulate {

// The arguments of one call, in the schema's order.
using Values = c10::ArrayRef<c10::IValue>;
using Condition = bool (*)(const c10::FunctionSchema& schema, Values values);
using Words = std::string (*)(const c10::FunctionSchema& schema, Values values);

[[nodiscard]] constexpr std::uint64_t bit(c10::ScalarType dtype) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(dtype);
}

enum class ErrorType : std::uint8_t {
    runtime,
    not_implemented,
    type,
    value,
    // Only in deterministic mode. The text is the name that torch puts into its own text.
    nondeterministic,
    // Only in deterministic mode, with a text of its own.
    cublas
};

// A rule for an op; all its conditions must hold.
struct Refusal {
    std::string_view op;        // with the overload
    std::string_view argument;  // whose dtype is checked; for a list, the first tensor's
    std::uint64_t dtypes;       // bits; 0: any
    bool promoted;              // checks the dtype to which all input tensors are promoted
    bool elsewhere;             // only if the argument is not on the device
    Condition condition;        // null: always
    Words words;                // makes the text from the arguments; null: `text`
    // The device's library lacks a kernel. It looks the kernel up only if there are elements.
    bool kernel;
    // The kernel's check of its arguments: an error of the program, so that no refusal is counted.
    bool check;
    ErrorType error;
    // Systems with this rule, as Accelerator::system: from `since`, before `until`; 0: all.
    unsigned since, until;
    // upstream's; {dtype} and {metal} are the dtype that is checked, {device} and {reduce} the
    // argument's, {input} is the first argument's dtype
    std::string_view text;
};

// A dtype that upstream computes and the CPU's kernel may lack, and the one or two dtypes to use in
// its place, in this order. `keep` names an argument (indices) that stays unchanged.
struct Computed {
    std::string_view op;
    c10::ScalarType dtype, first, second;
    std::string_view keep;
};

// The Metal kernel that an op looks up by its arguments' dtypes. The error names it for a dtype
// that the CPU's kernel lacks as well. {metal} is that dtype, {layout} dense or strided, {axis}
// innermost or outer, {index} the dtype of the result's indices.
struct MetalKernel {
    std::string_view op, name;  // the op without overload
};

// Dtypes that few kernels have: an op without such a row refuses them.
struct Taken {
    std::string_view op;
    std::uint64_t dtypes;  // bits
};

// The name by which an op's kernel refuses a dtype, if no rule has it: AT_DISPATCH's in its source.
struct DispatchName {
    std::string_view op, name;
};

[[nodiscard]] std::span<const DispatchName> mps_dispatch_names() noexcept;
[[nodiscard]] std::span<const DispatchName> cuda_dispatch_names() noexcept;

// An option that only the device's kernel honours: the CPU's kernel computes with its default.
struct Ignored {
    std::string_view op, argument;
};

[[nodiscard]] std::span<const Ignored> mps_ignored() noexcept;
[[nodiscard]] std::span<const Ignored> cuda_ignored() noexcept;
[[nodiscard]] std::span<const Refusal> mps_refusals() noexcept;
[[nodiscard]] std::span<const Computed> mps_computed() noexcept;
[[nodiscard]] std::span<const MetalKernel> mps_metal_kernels() noexcept;
[[nodiscard]] std::span<const Taken> mps_taken() noexcept;
[[nodiscard]] std::span<const Refusal> cuda_refusals() noexcept;
[[nodiscard]] std::span<const Computed> cuda_computed() noexcept;

// The rules of one op, found once, when its kernel is registered.
class Rules {
  public:
    Rules(std::span<const Refusal> refusals, std::span<const Computed> computed,
          std::string_view op, const c10::FunctionSchema& schema);

    // Throws upstream's error, and counts it, if a rule matches.
    void check(const c10::OperatorHandle& op, Values values) const {
        if (!refusals_.empty()) check_each(op, values);
    }
    [[nodiscard]] const Computed* computed(c10::ScalarType dtype) const noexcept;
    // Whether the op has a row for this dtype among those that few kernels have.
    [[nodiscard]] bool takes(c10::ScalarType dtype) const noexcept {
        return (taken_ & bit(dtype)) != 0;
    }

  private:
    struct Bound {
        const Refusal* rule;
        int argument;  // -1: none
    };
    void check_each(const c10::OperatorHandle& op, Values values) const;

    c10::SmallVector<Bound, 1> refusals_;
    std::span<const Computed> computed_;
    std::uint64_t taken_ = 0;
};

// MetalShaderLibrary's error for a dtype, if the op looks its kernel up, or if a rule says so for
// another dtype; nothing otherwise. `given` are the call's tensors on the device.
void refuse_missing_kernel(const c10::OperatorHandle& op, Values values,
                           c10::ArrayRef<at::Tensor> given, std::string_view dtype);

// An op as the rules name it: with its overload, without "aten::".
[[nodiscard]] std::string name_in_rules(const c10::FunctionSchema& schema);

// The name by which the device's kernel of the op refuses a dtype, from a rule for some dtype or
// from the list. Empty: not known.
[[nodiscard]] std::string_view dispatch_name(const c10::OperatorHandle& op);

// For kernels that are not the boxed one: finds the op's rules at each call.
void check_rules(const c10::OperatorHandle& op, Values values);

namespace conditions {

// For `requires`. An undefined optional tensor becomes nullopt.
std::optional<at::Tensor> maybe(const c10::IValue& value);
bool one_of(at::ScalarType dtype, std::initializer_list<at::ScalarType> dtypes);
bool powers_of_two(const std::vector<std::int64_t>& sizes);
bool same_dtypes(std::initializer_list<std::vector<at::Tensor>> lists);
// The one element, as CUDA prints it: a NaN has no sign.
double as_printed(const at::Tensor& value);
// Whether each row or column, along which elements lie side by side, begins at a multiple in
// memory.
bool rows_begin_at(const at::Tensor& matrix, std::int64_t multiple);
// Whether `dim` exists and is one whose indices a COO tensor stores.
bool selects_sparse(const at::Tensor& tensor, std::int64_t dim);
// The sizes of a Fourier transform along `dims`; `last`: the size along the last one, if it
// differs.
std::vector<std::int64_t> signal(const at::Tensor& tensor, const std::vector<std::int64_t>& dims,
                                 std::int64_t last = -1);

bool accumulates(const c10::FunctionSchema& schema, Values values);
bool along_last(const c10::FunctionSchema& schema, Values values);
bool bias_of_another_dtype(const c10::FunctionSchema& schema, Values values);
bool bool_exponent(const c10::FunctionSchema& schema, Values values);
bool common_dtype(const c10::FunctionSchema& schema, Values values);
bool common_dtype_of_dimensions(const c10::FunctionSchema& schema, Values values);
bool complex_factor(const c10::FunctionSchema& schema, Values values);
bool cublas_may_differ(const c10::FunctionSchema& schema, Values values);
bool distances_one_by_one(const c10::FunctionSchema& schema, Values values);
bool drawn_on_host(const c10::FunctionSchema& schema, Values values);
bool drops(const c10::FunctionSchema& schema, Values values);
bool empty_batches(const c10::FunctionSchema& schema, Values values);
bool empty_matrices(const c10::FunctionSchema& schema, Values values);
bool extreme_into_strided(const c10::FunctionSchema& schema, Values values);
bool grows_and_shrinks(const c10::FunctionSchema& schema, Values values);
bool grows_unevenly(const c10::FunctionSchema& schema, Values values);
bool half_to_float(const c10::FunctionSchema& schema, Values values);
bool mat2_of_another_dtype(const c10::FunctionSchema& schema, Values values);
bool maxima_of_bags(const c10::FunctionSchema& schema, Values values);
bool no_pivot(const c10::FunctionSchema& schema, Values values);
bool product_over_2_32(const c10::FunctionSchema& schema, Values values);
bool reduces(const c10::FunctionSchema& schema, Values values);
bool reduces_by_extreme(const c10::FunctionSchema& schema, Values values);
bool reduces_by_mean(const c10::FunctionSchema& schema, Values values);
bool reduces_by_product(const c10::FunctionSchema& schema, Values values);
bool rounds_decimals(const c10::FunctionSchema& schema, Values values);
bool short_rows(const c10::FunctionSchema& schema, Values values);
bool shrinks_unevenly(const c10::FunctionSchema& schema, Values values);
bool sizes_over_65536(const c10::FunctionSchema& schema, Values values);
bool transposed_3d(const c10::FunctionSchema& schema, Values values);
bool weight_of_another_dtype(const c10::FunctionSchema& schema, Values values);

}  // namespace conditions
}  // namespace compat::shim::simulate
