// Why a test failed, as far as its text tells: rules that are data (rules.json), each with examples
// that a test runs. Rules know texts of torch, its back ends, Python, pytest, the hub, and whose
// code a frame is; never a suite's, a module's or a test's name. Not for telling failures apart
// (signature.h) nor for what other runs say of the same test (runner/analysis).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parsers/record.h"
#include "runner/base/error.h"

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

enum class Confidence { low, medium, high };
inline constexpr std::array<std::string_view, 3> kConfidenceNames{"low", "medium", "high"};
[[nodiscard]] constexpr std::string_view name_of(Confidence c) {
    return kConfidenceNames[static_cast<size_t>(c)];
}

struct Diagnosis {
    Cause cause = Cause::unknown;
    std::optional<ErrorClass> error_class;
    Confidence confidence = Confidence::low;
    std::string rule;      // id in rules.json; empty with `unknown`
    std::string key_line;  // the line that says what went wrong; of a chained exception its own

    friend bool operator==(const Diagnosis&, const Diagnosis&) = default;
};

struct Rule {
    struct Example {
        Failure failure;
        State state = State::errored;
    };
    std::string id;
    Cause cause = Cause::unknown;
    std::optional<ErrorClass> error_class;
    Confidence confidence = Confidence::medium;
    std::string text;           // RE2, in "Type: message"; empty: any
    std::string at;             // RE2, in the frames (see Rules); empty: any
    std::vector<State> states;  // empty: any
    bool last_resort = false;   // gives way to what an exception chained before says
    std::string meaning;        // one sentence, for readers of a report
    std::vector<Example> examples;
};

// Rules in the order of their file: of those that hold the first decides. `text` is looked for in
// the exception's type and message, and, where only a rule of last resort holds, in those of the
// exceptions that are chained to it. `at` is looked for in one line a frame, innermost first, at
// most 12: "torch:autograd/__init__.py:backward" (place.h).
class Rules {
  public:
    // Errors: bad rules, naming the rule.
    [[nodiscard]] static Expected<Rules> parse(std::string_view json);
    // Those in rules.json, which is part of the program.
    [[nodiscard]] static const Rules& shipped();

    [[nodiscard]] Diagnosis diagnose(const Failure& failure, State state) const;
    [[nodiscard]] const std::vector<Rule>& all() const;

    Rules(Rules&&) noexcept;
    Rules& operator=(Rules&&) noexcept;
    ~Rules();

  private:
    struct Compiled;
    explicit Rules(std::unique_ptr<Compiled> compiled);
    std::unique_ptr<Compiled> compiled_;
};

}  // namespace compat::parsers
