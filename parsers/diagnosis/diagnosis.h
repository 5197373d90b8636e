// The diagnosis of a failure: values only. diagnose.h makes it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace compat::parsers {

// One vocabulary for reports, gaps and comparisons; docs/reference/diagnosis.md says what each
// means.
enum class Cause {
    op_missing,
    fell_back,
    dtype_limit,
    device_mismatch,
    device_assertion,
    race,
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
    unknown,
    upstream
};
struct CauseWords {
    std::string_view name;   // in files
    std::string_view means;  // for people
};
inline constexpr std::array<CauseWords, 20> kCauses{{
    {"op_missing", "the device has no kernel or feature for this"},
    {"fell_back", "an operator ran on the CPU, and the warning about that was raised as an error"},
    {"dtype_limit", "the device or kernel does not take this dtype, or dtypes do not go together"},
    {"device_mismatch", "tensors, generators or weights of one operation lie on different devices"},
    {"device_assertion", "the test asks for the name, index or kind of a device"},
    {"race", "two CUDA streams use the same memory, and no wait orders them"},
    {"shim_defect",
     "the redirection's own code broke, or claims that CUDA exists but lacks what was then needed"},
    {"torch_core", "torch's own Python, compiler, exporter or a device's runtime broke"},
    {"suite_assertion", "an assertion that is not about devices failed"},
    {"suite_error",
     "the code under test raised an ordinary error, or passed invalid arguments to a kernel"},
    {"tolerance", "numbers differ by more than is allowed, or were lost (nan)"},
    {"dependency", "a package or program is missing, or its version does not fit"},
    {"hub", "weights or data had to come over a network, from a hub such as Hugging Face"},
    {"resource", "memory, disk, file handles or threads are used up"},
    {"environment",
     "the device or its driver is not here, or a command or file is not as expected"},
    {"infrastructure", "the runner's own code in the child broke"},
    {"timeout", "the test, or what it waited for, took too long"},
    {"crash", "the process ended during the test"},
    {"unknown", "no rule matches"},
    {"upstream",
     "it fails the same without us: on plain CPU, without the shim (attribution alone)"},
}};
[[nodiscard]] constexpr const CauseWords& words_of(Cause c) {
    return kCauses[static_cast<size_t>(c)];
}
[[nodiscard]] constexpr std::string_view name_of(Cause c) { return words_of(c).name; }
[[nodiscard]] std::optional<Cause> cause_of(std::string_view name);

// The kind of refusal, if a device refused.
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

// The isolation of the child from its host, which may be why its test failed.
struct Isolation {
    bool sandbox = false;  // the file system is read-only, other processes are out of sight
    bool network = true;   // false: it has a loopback alone
};

struct Diagnosis {
    Cause cause = Cause::unknown;
    std::optional<ErrorClass> error_class;
    Confidence confidence = Confidence::low;
    std::string rule;      // id in rules.json; empty with `unknown`
    std::string key_line;  // the line that says what went wrong; of a chained exception its own
    friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

}  // namespace compat::parsers
