#include "reports/ways.h"

#include "runner/analysis/attempts.h"

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
    return store.other_ways_of(run).map([&](std::vector<store::RunInfo>&& runs) {
        return OtherRuns{std::move(runs),
                         [&store](const std::string& other, const std::string& test) {
                             return store.verdict_of(other, test).value_or(std::nullopt);
                         }};
    });
}

void WaysOfRun::add(const parsers::CaseRecord& test,
                    const std::vector<store::JobResult>& diagnostics) {
    if (test.pseudo) return;
    const analysis::FailedTest failed = analysis::failed_test(test);
    kinds_.add(failed);
    if (kinds_.represents(failed))
        kinds_.set_attempts(failed, analysis::attempts_of(diagnostics, test.id));
}

std::optional<analysis::DiagnosticResult> WaysOfRun::diagnosis(
    const parsers::CaseRecord& test) const {
    if (!run_.diagnose || test.pseudo) return std::nullopt;
    return kinds_.result(analysis::failed_test(test), way_);
}

std::optional<analysis::Attribution> WaysOfRun::attribution(
    const parsers::CaseRecord& test) const {
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
        others.push_back({std::move(way), attempt.reached ? shown_by(attempt.state,
                                                                     attempt.signature,
                                                                     failed.signature)
                                                          : Shown::idle});
    }
    for (const store::RunInfo& run : others_.runs)
        if (const auto verdict = others_.verdict(run.id, test.id))
            others.push_back({analysis::way_of(run),
                              shown_by(verdict->state, verdict->signature, failed.signature),
                              run.id});
    return analysis::attribute(own, others);
}

}  // namespace compat::reports
