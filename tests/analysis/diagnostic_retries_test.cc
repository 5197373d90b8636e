#include "runner/analysis/ways/diagnostic_retries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace compat::analysis {
namespace {

using parsers::ErrorClass;
using parsers::State;
using enum DiagnosticStep;
using Kind = DiagnosticResult::Kind;
using testing::ElementsAre;

const Way kStrictMac{true, "cpu", "mps", "missing", false, {}};
const Way kHost{false, "cpu", "", "", true, {}};

DiagnosticAttempt tried(DiagnosticStep step, State state, std::string signature = {},
                        std::string why = {}) {
    return {step, state != State::not_run, state, std::move(signature), std::move(why)};
}

std::vector<DiagnosticStep> steps_of(ErrorClass error, const Way& way) {
    const FailedTest test{"a.py::A::t", "broken", error};
    std::vector<DiagnosticStep> steps;
    std::vector<DiagnosticAttempt> attempts;
    while (const auto step = next_step(test, attempts, way)) {
        steps.push_back(*step);
        attempts.push_back(tried(*step, State::errored, "broken"));
    }
    return steps;
}

// The table of the specification (Diagnosis and gap log).
TEST(DiagnosticLadders, AreThoseOfTheSpecification) {
    const Way& mac = kStrictMac;
    EXPECT_THAT(steps_of(ErrorClass::device_mismatch, mac), ElementsAre(redirect_all, cpu));
    EXPECT_THAT(steps_of(ErrorClass::dtype_mismatch, mac), ElementsAre(float32, cpu));
    EXPECT_THAT(steps_of(ErrorClass::out_of_memory, mac), ElementsAre(cpu));
    EXPECT_THAT(steps_of(ErrorClass::mps_placeholder_storage, mac), ElementsAre(fallback, cpu));
    EXPECT_THAT(steps_of(ErrorClass::cuda_runtime_error, mac), ElementsAre(cpu));
    EXPECT_THAT(steps_of(ErrorClass::tensor_operation_failed, mac), ElementsAre(fallback, cpu));
    EXPECT_THAT(steps_of(ErrorClass::model_loading, mac), ElementsAre());
}

TEST(DiagnosticLadders, EndOnTheCpuAndUseEveryStep) {
    std::set<DiagnosticStep> used;
    for (size_t i = 0; i < parsers::kErrorClassNames.size(); ++i) {
        const auto ladder = ladder_of(static_cast<ErrorClass>(i));
        used.insert(ladder.begin(), ladder.end());
        if (!ladder.empty()) {
            EXPECT_EQ(ladder.back(), cpu);
        }
    }
    EXPECT_EQ(used.size(), kDiagnosticSteps.size());
    for (size_t i = 0; i < kDiagnosticSteps.size(); ++i)
        EXPECT_EQ(diagnostic_step_of(kDiagnosticSteps[i].name), static_cast<DiagnosticStep>(i));
}

TEST(DiagnosticSteps, AreSkippedWhereTheRunIsSoAlready) {
    Way fallback_on = kStrictMac;
    fallback_on.fallback = true;
    EXPECT_THAT(steps_of(ErrorClass::tensor_operation_failed, fallback_on), ElementsAre(cpu));
    Way full = kStrictMac;
    full.policy = "full";
    EXPECT_THAT(steps_of(ErrorClass::device_mismatch, full), ElementsAre(cpu));
    const Way cuda{true, "cpu", "cuda", "none", false, {}}, gpu{true, "cuda", "", "none", true, {}};
    for (const Way& way : {cuda, gpu}) {
        EXPECT_THAT(steps_of(ErrorClass::out_of_memory, way), ElementsAre(alone, cpu));
        EXPECT_THAT(steps_of(ErrorClass::cuda_runtime_error, way), ElementsAre(blocking, cpu));
    }
    const Way real_mac{true, "mps", "", "none", false, {}},
        cuda_on_mac{true, "mps", "cuda", "none", true, {}};
    EXPECT_THAT(steps_of(ErrorClass::tensor_operation_failed, real_mac), ElementsAre(fallback));
    EXPECT_THAT(steps_of(ErrorClass::dtype_mismatch, cuda_on_mac), ElementsAre(float32))
        << "without the shim the test would get MPS";
    EXPECT_THAT(steps_of(ErrorClass::device_mismatch, cuda), ElementsAre(cpu))
        << "nothing is redirected on simulated CUDA";
    EXPECT_THAT(steps_of(ErrorClass::tensor_operation_failed, cuda), ElementsAre(cpu))
        << "fallback is MPS's";
    EXPECT_THAT(steps_of(ErrorClass::device_mismatch, kHost), ElementsAre());
    EXPECT_THAT(steps_of(ErrorClass::device_mismatch, {false, "cuda", "", "", true, {}}),
                ElementsAre(cpu))
        << "a GPU is hidden";
}

TEST(DiagnosticSteps, EndWithTheFirstThatPasses) {
    const FailedTest test{"a.py::A::t", "broken", ErrorClass::device_mismatch};
    EXPECT_EQ(next_step(test, {tried(redirect_all, State::passed)}, kStrictMac), std::nullopt);
    EXPECT_EQ(next_step(test, {tried(redirect_all, State::skipped)}, kStrictMac), cpu);
    EXPECT_EQ(next_step({"a.py::A::t", "broken", {}}, {}, kStrictMac), std::nullopt);
}

struct RetriesCase {
    std::optional<ErrorClass> error;
    std::vector<DiagnosticAttempt> attempts;
    Way way;
    std::string words;
};

TEST(DiagnosticResults, AreExactlyOneOfFourKinds) {
    const auto mismatch = ErrorClass::device_mismatch;
    const Way& mac = kStrictMac;
    const RetriesCase cases[] = {
        {mismatch,
         {tried(redirect_all, State::passed)},
         mac,
         "passes with every device redirected"},
        {mismatch,
         {tried(redirect_all, State::errored, "broken"), tried(cpu, State::passed)},
         mac,
         "passes on CPU"},
        {mismatch,
         {tried(redirect_all, State::errored, "broken"), tried(cpu, State::errored, "broken")},
         mac,
         "fails the same everywhere"},
        {mismatch,
         {tried(redirect_all, State::errored, "broken"),
          tried(cpu, State::errored, "other", "KeyError: 'a'")},
         mac,
         "fails otherwise on CPU: KeyError: 'a'"},
        {mismatch,
         {tried(redirect_all, State::errored, "broken"),
          tried(cpu, State::skipped, "", "needs a device")},
         mac,
         "fails otherwise on CPU: skipped: needs a device"},
        {mismatch,
         {tried(redirect_all, State::errored, "broken")},
         mac,
         "not tried: the time for it was up (--diagnose-time), or it was interrupted"},
        {mismatch, {}, kHost, "not tried: the run is on plain CPU already"},
        {mismatch,
         {},
         {true, "mps", "", "full", true, {}},
         "not tried: no step for it changes anything on this device"},
        {std::nullopt, {}, mac, "not tried: no recovery is known for this failure"},
        {ErrorClass::model_loading,
         {},
         mac,
         "not tried: a download or a file is at fault, not a device"},
    };
    std::set<Kind> kinds;
    for (const RetriesCase& c : cases) {
        const auto result = result_of({"a.py::A::t", "broken", c.error}, c.attempts, c.way);
        kinds.insert(result.kind);
        EXPECT_EQ(words_of(result), c.words);
        EXPECT_TRUE(words_of(result).starts_with(brief_words_of(result)));
    }
    EXPECT_EQ(kinds.size(), kDiagnosticResultNames.size());
}

TEST(DiagnosticResults, OfAFailureWithoutASignatureAreNeverTheSame) {
    const FailedTest test{"a.py::A::t", "", ErrorClass::dtype_mismatch};
    const auto result =
        result_of(test, {tried(float32, State::crashed), tried(cpu, State::crashed, "", "SIGSEGV")},
                  kStrictMac);
    EXPECT_EQ(words_of(result), "fails otherwise on CPU: SIGSEGV");
}

TEST(DiagnosticResults, NothingIsTriedForWantOfRealWeights) {
    const FailedTest test{"a.py::A::t", "broken", std::nullopt, true};
    EXPECT_EQ(next_step(test, {}, kStrictMac), std::nullopt);
    EXPECT_EQ(words_of(result_of(test, {}, kStrictMac)),
              "not tried: needs the real weights or data");
    parsers::CaseRecord compared;
    compared.failure.emplace();
    compared.failure->diagnosis.emplace();
    compared.failure->diagnosis->rule = "generated-values";
    EXPECT_TRUE(failed_test(compared).needs_real);
    compared.failure->diagnosis->rule = "assertion";
    EXPECT_FALSE(failed_test(compared).needs_real);
}

TEST(Representatives, OneTestRepresentsItsSignature) {
    const auto error = ErrorClass::dtype_mismatch;
    const FailedTest first{"a.py::A::t", "broken", error}, second{"b.py::B::t", "broken", error};
    const FailedTest other{"b.py::B::u", "otherwise", error};
    Representatives kinds;
    for (const FailedTest& test : {first, second, other}) kinds.add(test);
    EXPECT_TRUE(kinds.represents(first));
    EXPECT_FALSE(kinds.represents(second));
    EXPECT_TRUE(kinds.represents(other));
    kinds.set_attempts(first, {tried(float32, State::passed)});
    kinds.set_attempts(second, {tried(float32, State::errored)});
    EXPECT_EQ(words_of(kinds.result(first, kStrictMac)), "passes in float32");
    EXPECT_EQ(words_of(kinds.result(second, kStrictMac)), "passes in float32 (as a.py::A::t)");
    EXPECT_EQ(brief_words_of(kinds.result(first, kStrictMac)), "passes in float32");
    EXPECT_EQ(brief_words_of(kinds.result(second, kStrictMac)), "passes in float32 (inferred)");
    EXPECT_EQ(kinds.run_as(other), "") << "no test of its kind ran";
    EXPECT_EQ(kinds.result(other, kStrictMac).kind, Kind::not_tried);
    const FailedTest bare{"a.py::A::x", "", error}, bare_too{"a.py::A::y", "", error};
    kinds.add(bare);
    kinds.add(bare_too);
    EXPECT_TRUE(kinds.represents(bare_too)) << "without a signature nothing is alike";
}

TEST(DiagnosticAttempts, SayWhyATestWasNotReached) {
    parsers::ModuleRecord record;
    parsers::CaseRecord broken;
    broken.id = "a.py::<module>";
    broken.pseudo = true;
    broken.state = State::errored;
    broken.failure.emplace();
    broken.failure->type = "ImportError";
    broken.failure->message = "no x";
    record.cases = {broken};
    const auto module = diagnostic_attempt(cpu, record, "a.py::A::t");
    EXPECT_EQ(module.state, State::errored);
    EXPECT_EQ(module.why, "ImportError: no x");
    record.cases.clear();
    const auto none = diagnostic_attempt(cpu, record, "a.py::A::t");
    EXPECT_FALSE(none.reached);
    EXPECT_EQ(none.why, "there is no such test");
}

}  // namespace
}  // namespace compat::analysis
