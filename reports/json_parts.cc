#include "reports/json_parts.h"

#include "reports/attribution_parts.h"
#include "runner/base/names.h"
#include "runner/base/run/run_fields.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

void frame_json(JsonText& to, const FrameView& f) {
    to.object([&] {
        to.member("file", f.file);
        to.member("line", f.line);
        to.member("function", f.function);
        to.member("suite", f.in_suite);
        to.member_or_null("url", f.url);
    });
}

void failure_json(JsonText& to, const FailureView& f) {
    to.object([&] {
        to.member("type", f.type);
        to.member("message", f.message);
        to.member("key_line", f.key_line);
        to.member_or_null("cause", f.cause);
        to.member_or_null("class", f.error_class);
        to.member_or_null("confidence", f.confidence);
        to.member_or_null("rule", f.rule);
        to.member_or_null("needs", f.needs);
        to.member_or_null("signature", f.signature);
        to.key("also");
        to.list(f.also, [&](const FailureView& also) { failure_json(to, also); });
        to.member("traceback", f.traceback);
        to.key("frames");
        to.list(f.frames, [&](const FrameView& frame) { frame_json(to, frame); });
    });
}

void failure_or_null(JsonText& to, const std::optional<FailureView>& f) {
    to.key("failure");
    f ? failure_json(to, *f) : to.value(nullptr);
}

void subtest_json(JsonText& to, const SubtestView& s) {
    to.object([&] {
        to.member("id", s.id);
        to.member("state", name_of(s.state));
        to.member_or_null("reason", s.reason);
        failure_or_null(to, s.failure);
    });
}

Json attempt_json(const AttemptView& a) {
    return {{"attempt", a.number},        {"kind", name_of(a.kind)},
            {"forked", a.forked},         {"state", name_of(a.state)},
            {"duration_s", a.duration_s}, {"key_line", or_null(a.key_line)},
            {"log", or_null(a.log)},      {"traceback", or_null(a.traceback)}};
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
            {"needs", or_null(c.needs)},
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

void test_members(JsonText& to, const CaseView& c) {
    to.member("id", c.id);
    to.member("state", name_of(c.state));
    to.member_or_null("reason", c.reason);
    to.member("pseudo", c.pseudo);
    if (c.tests != 1) to.member("tests", c.tests);
    to.member("flaky", c.flaky);
    to.member("fork_sensitive", c.fork_sensitive);
    to.member("duration_s", c.duration_s);
    to.member("file", c.file);
    to.member("line", c.line);
    to.member_or_null("url", c.url);
    to.key("marks");
    to.list(c.marks, [&](const std::string& mark) { to.value(mark); });
    const auto add_names = [&](const char* key, const parsers::HubNames& names) {
        if (names.any()) to.member(key, Json{{"count", names.count}, {"names", names.names}});
    };
    add_names("generated", c.generated);
    add_names("missing", c.missing);
    to.member_or_null("log", c.log);
    to.member("attempts", list_of(c.attempts, attempt_json));
    to.key("subtests");
    to.list(c.subtests, [&](const SubtestView& sub) { subtest_json(to, sub); });
    failure_or_null(to, c.failure);
    to.member("diagnosis", diagnosis_json(c.diagnosis));
    to.member("attribution", attribution_json(c.attribution));
    to.member("expectation", expectation_json(c.expectation));
    to.member("reproduce", reproduce_json(c.reproduce));
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
    Json json{{"id", r.id},
              {"started", iso8601(r.started)},
              {"duration_s", r.duration_s},
              {"complete", r.complete},
              {"exit_code", or_null(r.exit_code)},
              {"command", r.command},
              {"shim", r.shim ? "on" : "off"},
              {"subset", or_null(r.part)}};
    run_fields(r, [&](const RunField& field, const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        using Reported = RunField::Reported;
        if (field.report == Reported::no) return;
        if constexpr (std::is_same_v<T, std::optional<std::string>>) {
            json[field.key] = or_null(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
            json[field.key] = field.report == Reported::or_null ? or_null(value) : Json(value);
        } else if constexpr (std::is_arithmetic_v<T>) {
            json[field.key] = value;
        }
    });
    json["fingerprint"] = Json::parse(r.fingerprint);
    return json;
}

Json totals_json(const Totals& t) {
    Json out{{"modules", t.modules}, {"collected", t.collected}};
    for (size_t i = 0; i < parsers::kStateNames.size(); ++i)
        out[std::string(parsers::kStateNames[i])] = t.states[i];
    out["flaky"] = t.flaky;
    out["device"] = t.device;
    out["fallback"] = t.fallback;
    out["race"] = t.race;
    out["redirected"] = t.redirected;
    out["untouched"] = t.untouched;
    out["generated"] = t.generated;
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

Json collectives_json(const CollectivesView& view, std::size_t most) {
    if (!view.any()) return nullptr;
    const analysis::CollectiveFigures& f = view.figures;
    const auto site = [](const CollectiveView& c) -> Json {
        return {{"op", c.op},       {"group", c.group},     {"ranks", c.ranks},
                {"count", c.count}, {"bytes", c.bytes},     {"file", c.file},
                {"line", c.line},   {"url", or_null(c.url)}};
    };
    return {{"ranks", f.ranks},
            {"steps", f.steps},
            {"rank_steps", f.rank_steps},
            {"calls", f.calls},
            {"bytes", f.bytes},
            {"bytes_each", f.bytes_each()},
            {"ring_model",
             {{"bandwidth_gb_per_s", view.link.bandwidth},
              {"latency_us", view.link.latency},
              {"seconds_each", analysis::ring_seconds(f, view.link)}}},
            {"words", {describe_collectives(f), describe_ring(f, view.link)}},
            {"sites", list_of(view.sites, site, most)}};
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

Json writes_json(const WrittenFiles& writes) { return writes; }

Json hub_use_json(const std::optional<HubUse>& use) { return use ? Json(*use) : Json(nullptr); }

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
