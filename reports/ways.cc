#include "reports/ways.h"

#include <algorithm>

#include "parsers/diagnosis/diagnose.h"
#include "runner/analysis/attempts.h"
#include "runner/store/store.h"

namespace compat::reports {

namespace {

using analysis::Shown;
using parsers::State;

Shown shown_by(State state, const std::string& signature, const std::string& own) {
    if (state == State::passed || state == State::xpassed) return Shown::passes;
    if (!analysis::needs_attention(state)) return Shown::idle;
    return !own.empty() && signature == own ? Shown::fails_alike : Shown::fails_otherwise;
}

}  // namespace

Expected<OtherRuns> other_runs_of(const store::Store& store, const std::string& run) {
    const auto runs = TRY(store.other_ways_of(run));
    OtherRuns others;
    for (const store::RunInfo& info : runs)
        others.runs.push_back({info.id, analysis::way_of(info)});
    others.verdict = [&store](const std::string& other,
                              const std::string& test) -> std::optional<OtherRuns::Verdict> {
        const auto verdict = store.verdict_of(other, test).value_or(std::nullopt);
        if (!verdict) return std::nullopt;
        return OtherRuns::Verdict{verdict->state, verdict->signature, verdict->generated};
    };
    return others;
}

AttributionView view_of(const analysis::Attribution& attribution) {
    return {std::string(name_of(attribution.cause)), std::string(attribution.rule),
            std::string(attribution.words), attribution.run, attribution.as};
}

void WaysOfRun::add(const parsers::CaseRecord& test,
                    const std::vector<store::JobResult>& diagnostics) {
    if (test.pseudo) return;
    const analysis::FailedTest failed = analysis::failed_test(test);
    kinds_.add(failed);
    kinds_.set_attempts(failed, analysis::attempts_of(diagnostics, test.id));
}

std::optional<DiagnosisView> WaysOfRun::diagnosis(
    const parsers::CaseRecord& test, const std::vector<store::JobResult>& diagnostics) const {
    if (!diagnosed_ || test.pseudo) return std::nullopt;
    const auto result = kinds_.result(analysis::failed_test(test), way_);
    DiagnosisView view{result, words_of(result), {}};
    for (const store::JobResult& job : diagnostics)
        if (const auto step = diagnostic_step_of(job.step);
            step && job.only == std::vector{test.id}) {
            const auto attempt = analysis::diagnostic_attempt(*step, job.record, test.id);
            view.attempts.push_back(
                {job.attempt, job.step, attempt.state, job.duration_s, attempt.why, job.log});
        }
    return view;
}

std::optional<AttributionView> WaysOfRun::attribution(const parsers::CaseRecord& test) const {
    if (test.pseudo) return std::nullopt;
    const analysis::FailedTest failed = analysis::failed_test(test);
    analysis::OwnWay own{way_};
    if (const auto* failure = analysis::deciding_failure(test); failure && failure->diagnosis) {
        own.cause = failure->diagnosis->cause;
        own.rule = failure->diagnosis->rule;
        own.without_generated = parsers::Rules::shipped().cause_without_generated(own.rule);
    }
    own.generated = test.generated.any();
    std::vector<analysis::OtherWay> others;
    for (const auto& attempt : kinds_.attempts(failed)) {
        analysis::Way way = way_;
        way.step = attempt.step;
        others.push_back({std::move(way),
                          attempt.reached
                              ? shown_by(attempt.state, attempt.signature, failed.signature)
                              : Shown::idle,
                          {},
                          kinds_.run_as(failed),
                          attempt.generated});
    }
    // For each way, take the newest run that has the test: a later one may be of a part of the
    // suite.
    std::vector<analysis::Way> seen;
    for (const OtherRuns::Run& run : others_.runs) {
        if (std::find(seen.begin(), seen.end(), run.way) != seen.end()) continue;
        const auto verdict = others_.verdict(run.id, test.id);
        if (!verdict) continue;
        seen.push_back(run.way);
        others.push_back({run.way,
                          shown_by(verdict->state, verdict->signature, failed.signature),
                          run.id,
                          {},
                          verdict->generated});
    }
    const auto found = analysis::attribute(own, others);
    return found ? std::optional(view_of(*found)) : std::nullopt;
}

}  // namespace compat::reports
