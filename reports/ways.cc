#include "reports/ways.h"

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
    const auto runs = store.other_ways_of(run);
    if (!runs) return tl::unexpected(runs.error());
    OtherRuns others;
    for (const store::RunInfo& info : *runs)
        others.runs.push_back({info.id, analysis::way_of(info)});
    others.verdict = [&store](const std::string& other,
                              const std::string& test) -> std::optional<OtherRuns::Verdict> {
        const auto verdict = store.verdict_of(other, test).value_or(std::nullopt);
        if (!verdict) return std::nullopt;
        return OtherRuns::Verdict{verdict->state, verdict->signature};
    };
    return others;
}

void WaysOfRun::add(const parsers::CaseRecord& test,
                    std::vector<analysis::DiagnosticAttempt> attempts) {
    if (test.pseudo) return;
    const analysis::FailedTest failed = analysis::failed_test(test);
    kinds_.add(failed);
    kinds_.set_attempts(failed, std::move(attempts));
}

std::optional<analysis::DiagnosticResult> WaysOfRun::diagnosis(
    const parsers::CaseRecord& test) const {
    if (!diagnosed_ || test.pseudo) return std::nullopt;
    return kinds_.result(analysis::failed_test(test), way_);
}

std::optional<analysis::Attribution> WaysOfRun::attribution(const parsers::CaseRecord& test) const {
    if (test.pseudo) return std::nullopt;
    const analysis::FailedTest failed = analysis::failed_test(test);
    analysis::OwnWay own{way_};
    if (const auto* failure = analysis::deciding_failure(test); failure && failure->diagnosis) {
        own.cause = failure->diagnosis->cause;
        own.rule = failure->diagnosis->rule;
    }
    std::vector<analysis::OtherWay> others;
    for (const auto& attempt : kinds_.attempts(failed)) {
        analysis::Way way = way_;
        way.step = attempt.step;
        others.push_back(
            {std::move(way), attempt.reached
                                 ? shown_by(attempt.state, attempt.signature, failed.signature)
                                 : Shown::idle});
    }
    for (const OtherRuns::Run& run : others_.runs)
        if (const auto verdict = others_.verdict(run.id, test.id))
            others.push_back(
                {run.way, shown_by(verdict->state, verdict->signature, failed.signature), run.id});
    return analysis::attribute(own, others);
}

}  // namespace compat::reports
