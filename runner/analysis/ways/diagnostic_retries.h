// The retries of `--diagnose` for a failed test: the ladder of each error class, the next step for
// a failure, and the result in words. Pure. Not for a test's verdict, which these attempts never
// change (attempts.h), nor for the cause (attribution.h).
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/record.h"
#include "runner/base/device_kind.h"
#include "runner/base/diagnostic_step.h"

namespace compat::analysis {

// A way in which tests run.
struct Way {
    bool shim = true;
    std::string device = "cpu";  // the host's accelerator
    std::string simulated{};     // empty: none
    std::string policy{};        // of redirection; empty without the shim
    bool fallback = true;
    std::optional<DiagnosticStep> step{};  // a diagnostic attempt of a run of that way

    friend bool operator==(const Way&, const Way&) = default;
    // Nothing of ours, and no accelerator.
    [[nodiscard]] bool is_plain_cpu() const {
        return step == DiagnosticStep::cpu ||
               (!shim && simulated.empty() && !is_accelerator(device));
    }
    // On which the tests run.
    [[nodiscard]] const DeviceKind& kind() const {
        return device_kind(simulated.empty() ? device : simulated);
    }
    // Without the shim.
    [[nodiscard]] bool can_hide_accelerator() const { return device_kind(device).can_be_hidden; }
};

// `run`: a stored run, or the view of one.
template <class Run>
[[nodiscard]] Way way_of(const Run& run) {
    return {run.shim, run.device, run.simulated.value_or(""), run.policy, run.fallback, {}};
}

// Whether the step differs from what the run does anyway (kDiagnosticSteps.skipped).
[[nodiscard]] bool changes_something(DiagnosticStep step, const Way& run);

// In the order in which they are tried; empty: there is no recovery for this class.
[[nodiscard]] std::span<const DiagnosticStep> ladder_of(parsers::ErrorClass error);

// A failed test as the retries see it.
struct FailedTest {
    std::string id;
    std::string signature;  // of its failure
    std::optional<parsers::ErrorClass> error_class;
    bool needs_real = false;  // weights or data: what the hub generated is to blame
};
// The failure that decides: the test's own, else that of its first broken sub-test. Null: none.
[[nodiscard]] const parsers::Failure* deciding_failure(const parsers::CaseRecord& test);
[[nodiscard]] FailedTest failed_test(const parsers::CaseRecord& test);

// One diagnostic attempt at a test.
struct DiagnosticAttempt {
    DiagnosticStep step = DiagnosticStep::cpu;
    bool reached = false;  // the test is among those of the attempt, in any state but not_run
    parsers::State state = parsers::State::not_run;
    std::string signature{};
    std::string why{};       // key line or reason
    bool generated = false;  // it used what the hub had generated
};
[[nodiscard]] DiagnosticAttempt diagnostic_attempt(DiagnosticStep step,
                                                   const parsers::ModuleRecord& record,
                                                   std::string_view test);

// Those of the test among a module's stored ones.
template <class Jobs>
[[nodiscard]] std::vector<DiagnosticAttempt> attempts_of(const Jobs& diagnostics,
                                                         std::string_view test) {
    std::vector<DiagnosticAttempt> attempts;
    for (const auto& job : diagnostics)
        if (const auto step = diagnostic_step_of(job.step);
            step && job.only.size() == 1 && job.only.front() == test)
            attempts.push_back(diagnostic_attempt(*step, job.record, test));
    return attempts;
}

// Empty: a step passed, all were tried, or there is none for this failure.
[[nodiscard]] std::optional<DiagnosticStep> next_step(
    const FailedTest& test, const std::vector<DiagnosticAttempt>& attempts, const Way& run);

// The result of a failure's retries.
struct DiagnosticResult {
    enum class Kind { passes, same, otherwise, not_tried };
    Kind kind = Kind::not_tried;
    std::optional<DiagnosticStep> step{};  // that passes, or the last that fails otherwise
    std::string why{};                     // of `otherwise` and `not_tried`
    std::string as{};                      // the test that was run for this one; empty: itself

    friend bool operator==(const DiagnosticResult&, const DiagnosticResult&) = default;
};
inline constexpr std::array<std::string_view, 4> kDiagnosticResultNames{"passes", "same",
                                                                        "otherwise", "not_tried"};
[[nodiscard]] constexpr std::string_view name_of(DiagnosticResult::Kind kind) {
    return kDiagnosticResultNames[static_cast<std::size_t>(kind)];
}
[[nodiscard]] DiagnosticResult result_of(const FailedTest& test,
                                         const std::vector<DiagnosticAttempt>& attempts,
                                         const Way& run);
// "passes with fallback on", "fails the same everywhere (as a.py::test_b)"
[[nodiscard]] std::string words_of(const DiagnosticResult& result);

// In sums, beside a result that another test showed.
inline constexpr std::string_view kInferred = " (inferred)";
// Without the reason and the name of the other test: for sums.
[[nodiscard]] std::string brief_words_of(const DiagnosticResult& result);

// One test of each kind of failure is run, and represents the others: equal signature and class.
class Representatives {
  public:
    // Tests in the order of the run; the first of its kind represents it.
    void add(const FailedTest& test);
    [[nodiscard]] bool represents(const FailedTest& test) const;
    // Those of a test that represents its kind; of others they are ignored.
    void set_attempts(const FailedTest& test, std::vector<DiagnosticAttempt> attempts);
    [[nodiscard]] const std::vector<DiagnosticAttempt>& attempts(const FailedTest& test) const;
    // The other test that those are at; empty: the test itself, or there are none.
    [[nodiscard]] std::string run_as(const FailedTest& test) const;
    [[nodiscard]] DiagnosticResult result(const FailedTest& test, const Way& run) const;

  private:
    using Kind = std::pair<std::string, std::optional<parsers::ErrorClass>>;
    struct Representative {
        std::string id;
        std::vector<DiagnosticAttempt> attempts{};
    };
    // Failures without a signature are each of their own kind.
    [[nodiscard]] static Kind kind_of(const FailedTest& test);
    std::map<Kind, Representative> representatives_;
};

}  // namespace compat::analysis
