#include "runner/analysis/ways/diagnostic_retries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parsers/diagnosis/diagnose.h"
#include "runner/analysis/attempts.h"

namespace compat::analysis {

using parsers::ErrorClass;
using parsers::State;

namespace {

using enum DiagnosticStep;
constexpr DiagnosticStep kDeviceMismatch[] = {redirect_all, cpu};
constexpr DiagnosticStep kDtypeMismatch[] = {float32, cpu};
// Half the jobs is no step: each of these attempts is alone on the host.
constexpr DiagnosticStep kOutOfMemory[] = {alone, cpu};
constexpr DiagnosticStep kPlaceholderStorage[] = {fallback, cpu};
constexpr DiagnosticStep kCudaRuntime[] = {blocking, cpu};
constexpr DiagnosticStep kOperationFailed[] = {fallback, cpu};

// In the order of ErrorClass.
constexpr std::array<std::span<const DiagnosticStep>, parsers::kErrorClassNames.size()> kLadders{
    kDeviceMismatch,
    kDtypeMismatch,
    kOutOfMemory,
    kPlaceholderStorage,
    kCudaRuntime,
    kOperationFailed,
    {}};

constexpr std::string_view kSame = "fails the same everywhere";

bool tried(const std::vector<DiagnosticAttempt>& attempts, DiagnosticStep step) {
    return std::any_of(attempts.begin(), attempts.end(),
                       [&](const auto& attempt) { return attempt.step == step; });
}

const DiagnosticAttempt* passing(const std::vector<DiagnosticAttempt>& attempts) {
    const auto found = std::find_if(attempts.begin(), attempts.end(), [](const auto& attempt) {
        return attempt.reached && attempt.state == State::passed;
    });
    return found == attempts.end() ? nullptr : &*found;
}

bool fails_the_same(const DiagnosticAttempt& attempt, const FailedTest& test) {
    return attempt.reached && needs_attention(attempt.state) && !test.signature.empty() &&
           attempt.signature == test.signature;
}

}  // namespace

bool changes_something(DiagnosticStep step, const Way& run) {
    switch (step) {
        case redirect_all:
            return run.shim && run.policy != "full" && !device_kind(run.simulated).serves_cuda;
        case fallback:
            return run.kind().has_fallback && !run.fallback;
        case cpu:
            return !run.is_plain_cpu() && run.can_hide_accelerator();
        case alone:
        case blocking:
            return run.kind().has_launch_mode;
        case float32:
            return true;
    }
    return true;
}

std::span<const DiagnosticStep> ladder_of(ErrorClass error) {
    return kLadders[static_cast<std::size_t>(error)];
}

const parsers::Failure* deciding_failure(const parsers::CaseRecord& test) {
    if (test.failure) return &*test.failure;
    for (const parsers::SubCase& sub : test.subcases)
        if (sub.failure && needs_attention(sub.state)) return &*sub.failure;
    return nullptr;
}

FailedTest failed_test(const parsers::CaseRecord& test) {
    FailedTest failed{test.id, {}, {}, false};
    if (const parsers::Failure* failure = deciding_failure(test)) {
        failed.signature = failure->signature;
        if (failure->diagnosis) {
            failed.error_class = failure->diagnosis->error_class;
            failed.needs_real = parsers::Rules::shipped()
                                    .cause_without_generated(failure->diagnosis->rule)
                                    .has_value();
        }
    }
    return failed;
}

DiagnosticAttempt diagnostic_attempt(DiagnosticStep step, const parsers::ModuleRecord& record,
                                     std::string_view test) {
    DiagnosticAttempt attempt{step};
    const auto found = std::find_if(record.cases.begin(), record.cases.end(),
                                    [&](const auto& row) { return row.id == test; });
    // Else the module broke, or has no such test on this device.
    const auto row = found != record.cases.end()
                         ? found
                         : std::find_if(record.cases.begin(), record.cases.end(),
                                        [](const auto& other) { return other.pseudo; });
    if (row == record.cases.end()) {
        attempt.why = record.reason.empty() ? "there is no such test" : record.reason;
        return attempt;
    }
    attempt.state = row->state;
    attempt.reached = row->state != State::not_run;
    attempt.why = row->why();
    attempt.generated = row->generated.any();
    if (const parsers::Failure* failure = deciding_failure(*row))
        attempt.signature = failure->signature;
    return attempt;
}

std::optional<DiagnosticStep> next_step(const FailedTest& test,
                                        const std::vector<DiagnosticAttempt>& attempts,
                                        const Way& run) {
    if (!test.error_class || passing(attempts)) return std::nullopt;
    for (const DiagnosticStep step : ladder_of(*test.error_class))
        if (changes_something(step, run) && !tried(attempts, step)) return step;
    return std::nullopt;
}

DiagnosticResult result_of(const FailedTest& test, const std::vector<DiagnosticAttempt>& attempts,
                           const Way& run) {
    using enum DiagnosticResult::Kind;
    if (const auto* good = passing(attempts)) return {passes, good->step};
    if (test.needs_real) return {not_tried, {}, "needs the real weights or data"};
    if (!test.error_class) return {not_tried, {}, "no recovery is known for this failure"};
    if (ladder_of(*test.error_class).empty())
        return {not_tried, {}, "a download or a file is at fault, not a device"};
    if (next_step(test, attempts, run))
        return {not_tried, {}, "the time for it was up (--diagnose-time), or it was interrupted"};
    if (attempts.empty())
        return {not_tried,
                {},
                run.is_plain_cpu() ? "the run is on plain CPU already"
                                   : "no step for it changes anything on this device"};
    for (auto last = attempts.rbegin(); last != attempts.rend(); ++last)
        if (!fails_the_same(*last, test)) {
            const std::string state(needs_attention(last->state) ? ""
                                                                 : parsers::name_of(last->state));
            return {
                otherwise, last->step,
                state.empty() || last->why.empty() ? state + last->why : state + ": " + last->why};
        }
    return {same};
}

std::string words_of(const DiagnosticResult& result) {
    std::string words;
    switch (result.kind) {
        case DiagnosticResult::Kind::passes:
            words = row_of(*result.step).passes;
            break;
        case DiagnosticResult::Kind::same:
            words = kSame;
            break;
        case DiagnosticResult::Kind::otherwise:
            words = fmt::format("fails otherwise {}: {}", row_of(*result.step).under, result.why);
            break;
        case DiagnosticResult::Kind::not_tried:
            words = "not tried: " + result.why;
            break;
    }
    return result.as.empty() ? words : fmt::format("{} (as {})", words, result.as);
}

std::string brief_words_of(const DiagnosticResult& result) {
    std::string words = "not tried";
    if (result.kind == DiagnosticResult::Kind::passes) words = row_of(*result.step).passes;
    if (result.kind == DiagnosticResult::Kind::same) words = kSame;
    if (result.kind == DiagnosticResult::Kind::otherwise) words = "fails otherwise";
    if (!result.as.empty()) words += kInferred;
    return words;
}

Representatives::Kind Representatives::kind_of(const FailedTest& test) {
    return {test.signature.empty() ? test.id : test.signature, test.error_class};
}

void Representatives::add(const FailedTest& test) {
    representatives_.try_emplace(kind_of(test), Representative{test.id});
}

bool Representatives::represents(const FailedTest& test) const {
    const auto at = representatives_.find(kind_of(test));
    return at != representatives_.end() && at->second.id == test.id;
}

void Representatives::set_attempts(const FailedTest& test,
                                   std::vector<DiagnosticAttempt> attempts) {
    if (represents(test)) representatives_[kind_of(test)].attempts = std::move(attempts);
}

const std::vector<DiagnosticAttempt>& Representatives::attempts(const FailedTest& test) const {
    static const std::vector<DiagnosticAttempt> none;
    const auto at = representatives_.find(kind_of(test));
    return at == representatives_.end() ? none : at->second.attempts;
}

std::string Representatives::run_as(const FailedTest& test) const {
    const auto at = representatives_.find(kind_of(test));
    if (at == representatives_.end() || at->second.attempts.empty() || at->second.id == test.id)
        return {};
    return at->second.id;
}

DiagnosticResult Representatives::result(const FailedTest& test, const Way& run) const {
    DiagnosticResult result = result_of(test, attempts(test), run);
    result.as = run_as(test);
    return result;
}

}  // namespace compat::analysis
