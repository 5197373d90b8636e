// What is said of why a test failed: values only. Who says it: diagnose.h.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace compat::parsers {

// One vocabulary for reports, gaps and comparisons; docs/diagnosis.md says what each means.
enum class Cause {
    op_missing,
    fell_back,
    dtype_limit,
    device_mismatch,
    device_assertion,
    shim_defect,
    torch_core,
    suite_assertion,
    suite_error,
    tolerance,
    dependency,
    hub,
    resource,
    environment,
    infrastructure,
    timeout,
    crash,
    unknown
};
inline constexpr std::array<std::string_view, 18> kCauseNames{
    "op_missing",  "fell_back",  "dtype_limit",     "device_mismatch", "device_assertion",
    "shim_defect", "torch_core", "suite_assertion", "suite_error",     "tolerance",
    "dependency",  "hub",        "resource",        "environment",     "infrastructure",
    "timeout",     "crash",      "unknown"};
[[nodiscard]] constexpr std::string_view name_of(Cause c) {
    return kCauseNames[static_cast<size_t>(c)];
}
[[nodiscard]] std::optional<Cause> cause_of(std::string_view name);

// What a device refused, where a device did.
enum class ErrorClass {
    device_mismatch,
    dtype_mismatch,
    out_of_memory,
    mps_placeholder_storage,
    cuda_runtime_error,
    tensor_operation_failed,
    model_loading
};
inline constexpr std::array<std::string_view, 7> kErrorClassNames{
    "device_mismatch",    "dtype_mismatch",          "out_of_memory", "mps_placeholder_storage",
    "cuda_runtime_error", "tensor_operation_failed", "model_loading"};
[[nodiscard]] constexpr std::string_view name_of(ErrorClass c) {
    return kErrorClassNames[static_cast<size_t>(c)];
}
[[nodiscard]] std::optional<ErrorClass> error_class_of(std::string_view name);

enum class Confidence { low, medium, high };
inline constexpr std::array<std::string_view, 3> kConfidenceNames{"low", "medium", "high"};
[[nodiscard]] constexpr std::string_view name_of(Confidence c) {
    return kConfidenceNames[static_cast<size_t>(c)];
}
[[nodiscard]] std::optional<Confidence> confidence_of(std::string_view name);

struct Diagnosis {
    Cause cause = Cause::unknown;
    std::optional<ErrorClass> error_class;
    Confidence confidence = Confidence::low;
    std::string rule;      // id in rules.json; empty with `unknown`
    std::string key_line;  // the line that says what went wrong; of a chained exception its own

    friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

}  // namespace compat::parsers
