#include "reports/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/attribution_parts.h"
#include "reports/gap_parts.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class T>
Json or_null(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

template <class T, class Function>
Json list_of(const std::vector<T>& values, Function function) {
    Json list = Json::array();
    for (const T& value : values) list.push_back(function(value));
    return list;
}

Json frame(const FrameView& f) {
    return {{"file", f.file},
            {"line", f.line},
            {"function", f.function},
            {"suite", f.in_suite},
            {"url", or_null(f.url)}};
}

Json failure(const FailureView& f) {
    return {{"type", f.type},
            {"message", f.message},
            {"key_line", f.key_line},
            {"cause", or_null(f.cause)},
            {"class", or_null(f.error_class)},
            {"confidence", or_null(f.confidence)},
            {"rule", or_null(f.rule)},
            {"signature", or_null(f.signature)},
            {"also", list_of(f.also, failure)},
            {"traceback", f.traceback},
            {"frames", list_of(f.frames, frame)}};
}

Json cluster(const ClusterView& c) {
    return {{"signature", c.signature},
            {"tests", c.tests},
            {"cause", or_null(c.cause)},
            {"class", or_null(c.error_class)},
            {"confidence", or_null(c.confidence)},
            {"rule", or_null(c.rule)},
            {"key_line", c.key_line},
            {"example", c.example},
            {"url", or_null(c.url)},
            {"diagnosis", or_null(c.diagnosis)},
            {"attribution", or_null(c.attribution)}};
}

Json failure_or_null(const std::optional<FailureView>& f) {
    return f ? failure(*f) : Json(nullptr);
}

Json reproduce(const std::optional<Reproduce>& r) {
    if (!r) return nullptr;
    return {{"runner", r->runner}, {"plain", r->plain}};
}

Json subtest(const SubtestView& s) {
    return {{"id", s.id},
            {"state", name_of(s.state)},
            {"reason", or_null(s.reason)},
            {"failure", failure_or_null(s.failure)}};
}

Json attempt(const AttemptView& a) {
    return {{"attempt", a.number},        {"kind", name_of(a.kind)},
            {"forked", a.forked},         {"state", name_of(a.state)},
            {"duration_s", a.duration_s}, {"key_line", or_null(a.key_line)},
            {"log", or_null(a.log)}};
}

Json diagnosis(const std::optional<DiagnosisView>& d) {
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

Json expectation(const std::optional<ExpectationView>& e) {
    if (!e) return nullptr;
    return {{"fit", analysis::name_of(e->fit)},
            {"test", e->test},
            {"expect", e->expect},
            {"reason", or_null(e->reason)},
            {"issue", or_null(e->issue)}};
}

Json expectations(const ExpectationsView& e) {
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

Json test(const CaseView& c) {
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
            {"attempts", list_of(c.attempts, attempt)},
            {"subtests", list_of(c.subtests, subtest)},
            {"failure", failure_or_null(c.failure)},
            {"diagnosis", diagnosis(c.diagnosis)},
            {"attribution", attribution_json(c.attribution)},
            {"expectation", expectation(c.expectation)},
            {"reproduce", reproduce(c.reproduce)}};
}

// Without its cases: they may be large and are written one by one.
Json module(const ModuleView& m) {
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
                {"reproduce", reproduce(m.reproduce)},
                {"cases", Json::array()}});
    return out;
}

Json run(const RunView& r) {
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

Json totals(const Totals& t) {
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

Json redirection(const RedirectionView& r) {
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

Json mismatch(const AccountingMismatch& m) {
    return {{"module", or_null(m.module)}, {"message", m.message}};
}

Json load_failure(const LoadFailureView& f) {
    return {{"key_line", f.key_line},
            {"type", f.type},
            {"modules", f.modules},
            {"example", f.module},
            {"url", or_null(f.url)}};
}

Json leaked(const LeakedView& p) {
    return {{"module", p.module}, {"pid", p.pid}, {"command", p.command}, {"killed", p.killed}};
}

// `value`, indented for `depth` levels below the document.
std::string dumped(const Json& value, int depth) {
    const std::string text = value.dump(1, ' ', false, Json::error_handler_t::replace);
    std::string out;
    out.reserve(text.size() + text.size() / 4);
    for (size_t begin = 0; begin < text.size();) {
        // Strings have none: it is escaped.
        const size_t end = text.find('\n', begin);
        if (end == std::string::npos) return out.append(text, begin);
        out.append(text, begin, end + 1 - begin).append(static_cast<size_t>(depth), ' ');
        begin = end + 1;
    }
    return out;
}

// The members of `object` without its braces.
std::string members(const Json& object) {
    const std::string text = dumped(object, 0);
    return text.substr(1, text.size() - 3);
}

class JsonReport : public Renderer {
  public:
    JsonReport(const ReportModel& model, Sink sink) : sink_(std::move(sink)) {
        sink_("{" +
              members({{"format", kReportFormat},
                       {"generator", fmt::format("runner {}", kVersion)},
                       {"run", run(model.run)},
                       {"totals", totals(model.totals)},
                       {"accounting",
                        {{"closed", model.accounting.closed},
                         {"mismatches", list_of(model.accounting.mismatches, mismatch)}}},
                       {"links",
                        {{"total", model.links_total}, {"unresolved", model.links_unresolved}}},
                       {"expectations", expectations(model.expectations)},
                       {"causes", model.causes},
                       {"diagnoses", model.diagnoses},
                       {"attributions", model.attributions},
                       {"load_failures", list_of(model.load_failures, load_failure)}}) +
              ",\n \"clusters\": [");
        for (size_t i = 0; i < model.clusters.size(); ++i) item(i > 0, cluster(model.clusters[i]));
        sink_(std::string(model.clusters.empty() ? "]," : "\n ],") +
              members({{"gaps", list_of(model.gaps, gap_json)},
                       {"redirections", list_of(model.redirections, redirection)},
                       {"leaked_processes", list_of(model.leaked_processes, leaked)}}) +
              ",\n \"modules\": [");
    }

    void add(const ModuleView& view) override {
        std::string text = (has_module_ ? ",\n  " : "\n  ") + dumped(module(view), 2);
        has_module_ = true;
        const std::string_view end = "]\n  }";
        text.resize(text.size() - end.size());
        sink_(text);
        for (size_t i = 0; i < view.cases.size(); ++i)
            sink_((i > 0 ? ",\n    " : "\n    ") + dumped(test(view.cases[i]), 4));
        if (!view.cases.empty()) sink_("\n   ");
        sink_(end);
    }

    void finish() override { sink_(has_module_ ? "\n ]\n}\n" : "]\n}\n"); }

  private:
    // An item of a list that may be too long for one string.
    void item(bool follows, const Json& value) {
        sink_((follows ? ",\n  " : "\n  ") + dumped(value, 2));
    }

    Sink sink_;
    bool has_module_ = false;
};

}  // namespace

nlohmann::ordered_json attribution_json(const std::optional<AttributionView>& a) {
    if (!a) return nullptr;
    return {{"cause", a->cause},
            {"rule", or_null(a->rule)},
            {"words", a->words},
            {"run", or_null(a->run)},
            {"as", or_null(a->as)}};
}

std::unique_ptr<Renderer> json_report(const ReportModel& model, Sink sink) {
    return std::make_unique<JsonReport>(model, std::move(sink));
}

}  // namespace compat::reports
