// What upstream's kernels refuse though the op has one: dtypes, sizes and options. The rules are
// data (mps_refusals.json, made into tables by refusals.py); this is what they are made of and how
// a call is held against them. Which ops have no kernel at all is the operators' table's
// (accelerator.h).
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace compat::shim::simulate {

// The arguments of one call, as the op's schema orders them.
using Values = c10::ArrayRef<c10::IValue>;
using Condition = bool (*)(const c10::FunctionSchema& schema, Values values);

[[nodiscard]] constexpr std::uint64_t bit(c10::ScalarType dtype) noexcept {
    return std::uint64_t{1} << static_cast<unsigned>(dtype);
}

// One op's rule: all that it asks for has to be met.
struct Refusal {
    std::string_view op;        // with the overload
    std::string_view argument;  // whose dtype is asked for
    std::uint64_t dtypes;       // bits; 0: of any
    bool elsewhere;             // met only by an argument that is not on the device
    Condition condition;        // null: always
    // A kernel that the device's library lacks, which is looked for only where there are elements.
    bool kernel;
    std::string_view
        text;  // upstream's; {dtype}, {metal}, {device} and {reduce} are the argument's
};

// A dtype that upstream computes and that the CPU's kernel may lack, and what the CPU is given in
// its place, first one and then the other. `keep` names an argument that stays as it is: of places.
struct Computed {
    std::string_view op;
    c10::ScalarType dtype, first, second;
    std::string_view keep;
};

[[nodiscard]] std::span<const Refusal> mps_refusals() noexcept;
[[nodiscard]] std::span<const Computed> mps_computed() noexcept;

// The rules of one op, found once, when its kernel is registered.
class Rules {
  public:
    Rules(std::span<const Refusal> refusals, std::span<const Computed> computed,
          std::string_view op, const c10::FunctionSchema& schema);

    // Throws in upstream's words, and counts it, where a rule is met.
    void check(const c10::OperatorHandle& op, Values values) const {
        if (!refusals_.empty()) check_each(op, values);
    }
    [[nodiscard]] const Computed* computed(c10::ScalarType dtype) const noexcept;

  private:
    struct Bound {
        const Refusal* rule;
        int argument;  // -1: none
    };
    void check_each(const c10::OperatorHandle& op, Values values) const;

    c10::SmallVector<Bound, 1> refusals_;
    std::span<const Computed> computed_;
};

namespace conditions {

bool bool_exponent(const c10::FunctionSchema& schema, Values values);
bool grows_and_shrinks(const c10::FunctionSchema& schema, Values values);
bool grows_unevenly(const c10::FunctionSchema& schema, Values values);
bool half_to_float(const c10::FunctionSchema& schema, Values values);
bool no_pivot(const c10::FunctionSchema& schema, Values values);
bool reduces_by_mean(const c10::FunctionSchema& schema, Values values);
bool reduces_by_product(const c10::FunctionSchema& schema, Values values);
bool rounds_decimals(const c10::FunctionSchema& schema, Values values);
bool shrinks_unevenly(const c10::FunctionSchema& schema, Values values);
bool transposed_3d(const c10::FunctionSchema& schema, Values values);

}  // namespace conditions
}  // namespace compat::shim::simulate
