#include "reports/ci/outcome.h"

#include <fmt/format.h>

#include "runner/base/framework.h"

namespace compat::reports {

namespace {

using parsers::State;

// In the order of parsers::State.
constexpr std::array<CiOutcome, parsers::kStateNames.size()> kOutcomes{
    CiOutcome::passed,   // passed
    CiOutcome::failed,   // failed
    CiOutcome::errored,  // errored
    CiOutcome::skipped,  // skipped
    CiOutcome::skipped,  // xfailed
    CiOutcome::passed,   // xpassed
    CiOutcome::errored,  // crashed
    CiOutcome::errored,  // timed_out
    CiOutcome::not_run,  // not_run
};

std::string format_failure(const FailureView& failure) {
    if (failure.type.empty()) return failure.message;
    return failure.message.empty() ? failure.type
                                   : fmt::format("{}: {}", failure.type, failure.message);
}

const std::string& text_or(const FailureView& failure, const std::string& other) {
    return failure.traceback.empty() ? other : failure.traceback;
}

void append(std::string& to, std::string_view heading, const FailureView& failure) {
    if (!to.empty() && !to.ends_with('\n')) to += '\n';
    if (!heading.empty()) to += fmt::format("\n{}:\n", heading);
    to += text_or(failure, format_failure(failure));
}

}  // namespace

CiOutcome ci_outcome_of(State state, std::string_view framework) {
    const FrameworkTraits* const traits = traits_of(framework);
    if (state == State::xpassed && traits != nullptr && traits->fails_on_xpassed)
        return CiOutcome::failed;
    return kOutcomes[static_cast<size_t>(state)];
}

namespace {

std::int64_t& count_of(CiCounts& counts, CiOutcome outcome) {
    constexpr std::array<std::int64_t CiCounts::*, 5> kMembers{
        &CiCounts::passed, &CiCounts::failed, &CiCounts::errored, &CiCounts::skipped,
        &CiCounts::not_run};
    return counts.*kMembers[static_cast<size_t>(outcome)];
}

}  // namespace

CiOutcome ci_outcome_of(const CaseView& test, std::string_view framework) {
    if (fails_as_expected(test.expectation)) return CiOutcome::skipped;
    if (passes_unexpectedly(test.expectation)) return CiOutcome::failed;
    return ci_outcome_of(test.state, framework);
}

CiCounts ci_counts_of(const ReportModel& model) {
    CiCounts counts;
    for (size_t i = 0; i < model.totals.states.size(); ++i) {
        const State state = static_cast<State>(i);
        const CiOutcome outcome = ci_outcome_of(state, model.run.framework);
        const std::int64_t expected = model.expectations.expected[i];
        const std::int64_t passes = model.expectations.passes_with_entry[i];
        count_of(counts, outcome) += model.totals.rows[i] - expected - passes;
        counts.skipped += expected;
        counts.failed += passes;
    }
    return counts;
}

CiCounts ci_counts_of(const ModuleView& module, std::string_view framework) {
    CiCounts counts;
    for (const CaseView& test : module.cases) ++count_of(counts, ci_outcome_of(test, framework));
    return counts;
}

std::string ci_message_of(const CaseView& test) {
    if (fails_as_expected(test.expectation) || passes_unexpectedly(test.expectation))
        return describe_expectation(test.state, *test.expectation);
    if (const FailureView* const failure = failure_of(test)) return format_failure(*failure);
    if (!test.reason.empty()) return test.reason;
    return test.state == State::xpassed ? "passed unexpectedly" : std::string{};
}

std::string ci_details_of(const CaseView& test) {
    std::string text;
    if (test.failure) {
        append(text, {}, *test.failure);
        for (const FailureView& also : test.failure->also) append(text, "Another failure", also);
    }
    for (const SubtestView& sub : test.subtests)
        if (sub.failure && needs_attention(sub.state))
            append(text, "Sub-test " + sub.id, *sub.failure);
    if (!needs_attention(test.state)) return text;
    if (text.empty()) text = test.reason;
    if (test.reproduce)
        text += fmt::format("{}\nTo reproduce:\n{}\n{}\n", text.ends_with('\n') ? "" : "\n",
                            test.reproduce->runner, test.reproduce->plain);
    return text;
}

IdParts parts_of_id(const std::string& id, const std::string& module) {
    std::string_view rest = id;
    if (rest.starts_with(module) && rest.substr(module.size()).starts_with("::"))
        rest.remove_prefix(module.size() + 2);
    // Parameters may hold anything.
    const size_t end = rest.substr(0, rest.find('[')).rfind("::");
    if (end == std::string_view::npos) return {module, {}, std::string(rest)};
    return {module, std::string(rest.substr(0, end)), std::string(rest.substr(end + 2))};
}

}  // namespace compat::reports
