#include "reports/json_parts.h"

#include "reports/attribution_parts.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

Json frame_json(const FrameView& f) {
    return {{"file", f.file},
            {"line", f.line},
            {"function", f.function},
            {"suite", f.in_suite},
            {"url", or_null(f.url)}};
}

Json failure_json(const FailureView& f) {
    return {{"type", f.type},
            {"message", f.message},
            {"key_line", f.key_line},
            {"cause", or_null(f.cause)},
            {"class", or_null(f.error_class)},
            {"confidence", or_null(f.confidence)},
            {"rule", or_null(f.rule)},
            {"signature", or_null(f.signature)},
            {"also", list_of(f.also, failure_json)},
            {"traceback", f.traceback},
            {"frames", list_of(f.frames, frame_json)}};
}

Json failure_or_null(const std::optional<FailureView>& f) {
    return f ? failure_json(*f) : Json(nullptr);
}

Json subtest_json(const SubtestView& s) {
    return {{"id", s.id},
            {"state", name_of(s.state)},
            {"reason", or_null(s.reason)},
            {"failure", failure_or_null(s.failure)}};
}

Json attempt_json(const AttemptView& a) {
    return {{"attempt", a.number},        {"kind", name_of(a.kind)},
            {"forked", a.forked},         {"state", name_of(a.state)},
            {"duration_s", a.duration_s}, {"key_line", or_null(a.key_line)},
            {"log", or_null(a.log)}};
}

Json diagnosis_json(const std::optional<DiagnosisView>& d) {
    if (!d) return nullptr;
    const auto attempt_at_step = [](const DiagnosticAttemptView& a) {
        return Json{{"attempt", a.number},
                    {"step", a.step},
                    {"state", name_of(a.state)},
                    {"duration_s", a.duration_s},
                    {"key_line", or_null(a.key_line)},
                    {"log", or_null(a.log)}};
    };
    return {{"result", name_of(d->result.kind)},
            {"step", d->result.step ? Json(name_of(*d->result.step)) : Json(nullptr)},
            {"words", d->words},
            {"as", or_null(d->result.as)},
            {"attempts", list_of(d->attempts, attempt_at_step)}};
}

Json expectation_json(const std::optional<ExpectationView>& e) {
    if (!e) return nullptr;
    return {{"fit", analysis::name_of(e->fit)},
            {"test", e->test},
            {"expect", e->expect},
            {"reason", or_null(e->reason)},
            {"issue", or_null(e->issue)}};
}

}  // namespace

Json cluster_json(const ClusterView& c) {
    return {{"signature", c.signature},
            {"tests", c.tests},
            {"expected", c.expected},
            {"cause", or_null(c.cause)},
            {"class", or_null(c.error_class)},
            {"confidence", or_null(c.confidence)},
            {"rule", or_null(c.rule)},
            {"key_line", c.key_line},
            {"example", c.example},
            {"url", or_null(c.url)},
            {"diagnosis", or_null(c.diagnosis)},
            {"attribution", or_null(c.attribution)},
            {"place", or_null(c.place)},
            {"place_url", or_null(c.place_url)}};
}

Json reproduce_json(const std::optional<Reproduce>& r) {
    if (!r) return nullptr;
    return {{"runner", r->runner}, {"plain", r->plain}};
}

Json test_json(const CaseView& c) {
    return {{"id", c.id},
            {"state", name_of(c.state)},
            {"reason", or_null(c.reason)},
            {"pseudo", c.pseudo},
            {"flaky", c.flaky},
            {"fork_sensitive", c.fork_sensitive},
            {"duration_s", c.duration_s},
            {"file", c.file},
            {"line", c.line},
            {"url", or_null(c.url)},
            {"marks", c.marks},
            {"log", or_null(c.log)},
            {"attempts", list_of(c.attempts, attempt_json)},
            {"subtests", list_of(c.subtests, subtest_json)},
            {"failure", failure_or_null(c.failure)},
            {"diagnosis", diagnosis_json(c.diagnosis)},
            {"attribution", attribution_json(c.attribution)},
            {"expectation", expectation_json(c.expectation)},
            {"reproduce", reproduce_json(c.reproduce)}};
}

Json module_json(const ModuleView& m) {
    Json out{{"path", m.path},
             {"url", or_null(m.url)},
             {"outcome", name_of(m.outcome)},
             {"reason", or_null(m.reason)},
             {"attempts", m.attempts},
             {"log", or_null(m.log)},
             {"process_end", or_null(m.process_end)}};
    each_cost([&](const char* name, auto member, Aggregate) { out[name] = m.*member; });
    out.update({{"cpu_s", m.user_s + m.system_s},
                {"last_known_cases", or_null(m.last_known_cases)},
                {"diagnostics", m.diagnostics},
                {"reproduce", reproduce_json(m.reproduce)},
                {"cases", Json::array()}});
    return out;
}

Json run_json(const RunView& r) {
    return {{"id", r.id},
            {"suite", r.suite},
            {"series", r.series},
            {"framework", r.framework},
            {"started", iso8601(r.started)},
            {"duration_s", r.duration_s},
            {"complete", r.complete},
            {"exit_code", or_null(r.exit_code)},
            {"shim", r.shim ? "on" : "off"},
            {"policy", or_null(r.policy)},
            {"masquerade", r.masquerade},
            {"device", r.device},
            {"simulated", or_null(r.simulated)},
            {"fallback", r.fallback},
            {"keep_going", r.keep_going},
            {"seeds", r.seeds},
            {"diagnose", r.diagnose},
            {"commit", or_null(r.commit)},
            {"dirty", r.dirty},
            {"torch", or_null(r.torch)},
            {"root", r.root},
            {"command", r.command},
            {"fingerprint", Json::parse(r.fingerprint)}};
}

Json totals_json(const Totals& t) {
    Json out{{"modules", t.modules}, {"collected", t.collected}};
    for (size_t i = 0; i < parsers::kStateNames.size(); ++i)
        out[std::string(parsers::kStateNames[i])] = t.states[i];
    out["flaky"] = t.flaky;
    out["device"] = t.device;
    out["fallback"] = t.fallback;
    out["redirected"] = t.redirected;
    out["untouched"] = t.untouched;
    return out;
}

Json redirection_json(const RedirectionView& r) {
    return {{"kind", r.kind},
            {"op", r.op},
            {"from", r.from},
            {"to", r.to},
            {"message", or_null(r.message)},
            {"file", r.file},
            {"line", r.line},
            {"url", or_null(r.url)},
            {"count", r.count},
            {"tests", r.tests}};
}

Json mismatch_json(const AccountingMismatch& m) {
    return {{"module", or_null(m.module)}, {"message", m.message}};
}

Json load_failure_json(const LoadFailureView& f) {
    return {{"key_line", f.key_line},
            {"type", f.type},
            {"modules", f.modules},
            {"example", f.module},
            {"url", or_null(f.url)}};
}

Json leaked_json(const LeakedView& p) {
    return {{"module", p.module}, {"pid", p.pid}, {"command", p.command}, {"killed", p.killed}};
}

nlohmann::ordered_json attribution_json(const std::optional<AttributionView>& a) {
    if (!a) return nullptr;
    return {{"cause", a->cause},
            {"rule", or_null(a->rule)},
            {"words", a->words},
            {"run", or_null(a->run)},
            {"as", or_null(a->as)}};
}

Json expectations_json(const ExpectationsView& e) {
    const auto note = [](const EntryNoteView& n) {
        return Json{{"kind", analysis::name_of(n.kind)},
                    {"test", n.test},
                    {"reason", or_null(n.reason)},
                    {"issue", or_null(n.issue)},
                    {"until", or_null(n.until)}};
    };
    return {{"file", e.entries > 0 ? or_null(e.file) : Json(nullptr)},
            {"entries", e.entries},
            {"expected_failures", sum_of_states(e.expected)},
            {"unexpected_passes", sum_of_states(e.unexpected_passes)},
            {"unexpected_failures", sum_of_states(e.unexpected_failures)},
            {"notes", list_of(e.notes, note)}};
}

Json blind_spot_json(const BlindSpot& spot) {
    return {{"name", spot.name}, {"words", spot.words}, {"tests", spot.tests}};
}

Json step_place_json(const StepPlace& at) {
    return {{"place", at.place}, {"url", or_null(at.url)}, {"tests", at.tests}};
}

Json first_step_json(const FirstStep& step) {
    return {{"title", step.title},
            {"advice", or_null(step.advice)},
            {"cause", or_null(step.cause)},
            {"signatures", step.signatures},
            {"example", step.example},
            {"url", or_null(step.url)},
            {"tests", step.tests},
            {"modules", step.modules},
            {"places", list_of(step.places, step_place_json)}};
}

Json history_point_json(const HistoryPoint& point) {
    Json states = Json::object();
    for (size_t i = 0; i < point.states.size(); ++i)
        states[std::string(parsers::kStateNames[i])] = point.states[i];
    return {{"id", point.id},
            {"started", iso8601(point.started)},
            {"complete", point.complete},
            {"states", std::move(states)}};
}

}  // namespace compat::reports
