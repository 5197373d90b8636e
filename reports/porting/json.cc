// A comparison of devices as JSON (porting.schema.json).
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/attribution_parts.h"
#include "reports/porting/pages.h"
#include "runner/base/names.h"

namespace compat::reports {

namespace {

using Json = nlohmann::ordered_json;

Json null_if_empty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

template <class T>
Json by_column(const PerColumn<T>& values) {
    Json object = Json::object();
    for (const ColumnRow& row : kColumns)
        object[std::string(row.name)] = values[static_cast<size_t>(row.column)];
    return object;
}

Json column(const PortingView& view, const ColumnRow& row) {
    const PortingColumn& at = view.at(row.column);
    Json out{{"column", row.name},
             {"simulated", row.simulated.empty() ? Json(nullptr) : Json(row.simulated)},
             {"fallback", row.fallback},
             {"run", at.run ? Json(at.run->id) : Json(nullptr)},
             {"report", null_if_empty(at.report_url)},
             {"complete", at.run && at.why_missing.empty()},
             {"why_missing", null_if_empty(at.why_missing)},
             {"duration_s", at.run ? at.run->duration_s : 0.0},
             {"collected", at.totals.collected}};
    for (size_t i = 0; i < parsers::kStateNames.size(); ++i)
        out[std::string(parsers::kStateNames[i])] = at.totals.states[i];
    out["exercised"] = at.used_accelerator;
    out["generated"] = at.totals.generated;
    out["differ"] = at.differ;
    for (size_t i = 0; i < analysis::kChangeNames.size(); ++i)
        out["changes"][std::string(analysis::kChangeNames[i])] = at.changes[i];
    for (size_t i = 0; i < kGroupNames.size(); ++i)
        out["groups"][std::string(kGroupNames[i])] = at.groups[i];
    out["broken_alike"] = at.broken_alike;
    out["upstream"] = at.upstream;
    return out;
}

Json gap(const CauseOfDifferences& cause) {
    if (!cause.gap) return nullptr;
    return {{"symbol", cause.gap->symbol},
            {"kind", name_of(cause.gap->kind)},
            {"device", cause.gap->device},
            {"equivalent", null_if_empty(cause.equivalent)},
            {"issue", null_if_empty(cause.issue)}};
}

Json places(const std::vector<BreakingPlace>& list) {
    Json places = Json::array();
    for (const BreakingPlace& p : list)
        places.push_back({{"place", p.place}, {"url", null_if_empty(p.url)}, {"tests", p.tests}});
    return places;
}

Json cause(const CauseOfDifferences& c) {
    Json behind = Json::array();
    for (const ObstacleBehind& o : c.behind)
        behind.push_back({{"title", o.title}, {"tests", o.tests}});
    return {{"group", name_of(c.group)},
            {"judgement", null_if_empty(c.judgement)},
            {"title", c.title},
            {"advice", null_if_empty(c.advice)},
            {"cause", null_if_empty(c.diagnosis)},
            {"class", null_if_empty(c.error_class)},
            {"rule", null_if_empty(c.rule)},
            {"signature", null_if_empty(c.signature)},
            {"attribution", attribution_json(c.attribution)},
            {"gap", gap(c)},
            {"places", places(c.places)},
            {"places_behind", places(c.places_behind)},
            {"tests", c.tests},
            {"counts", by_column(c.counts)},
            {"breaks_alike", breaks_alike(c)},
            {"unblocked_tests", c.unblocked_tests},
            {"unblocked", by_column(c.unblocked)},
            {"perhaps_unblocked_tests", c.perhaps_unblocked_tests},
            {"perhaps_unblocked", by_column(c.perhaps_unblocked)},
            {"blocked_tests", c.blocked_tests},
            {"behind", std::move(behind)}};
}

Json difference(const Difference& d) {
    return {{"column", row_of(d.column).name},
            {"change", name_of(d.change)},
            {"cause", d.cause},
            {"causes", d.causes},
            {"key_line", null_if_empty(d.key_line)},
            {"place", null_if_empty(d.place)},
            {"url", null_if_empty(d.place_url)},
            {"reproduce", null_if_empty(d.reproduce)},
            {"attribution", attribution_json(d.attribution)},
            {"streams", d.streams},
            {"failed_streams", d.failed_streams}};
}

Json test(const PortedTest& t) {
    Json out{{"id", t.id},
             {"module", t.module},
             {"url", null_if_empty(t.url)},
             {"pseudo", t.pseudo},
             {"flaky", t.flaky},
             {"generated", t.generated},
             {"states", Json::object()},
             {"differences", Json::array()}};
    for (const ColumnRow& row : kColumns) {
        const auto& state = t.states[static_cast<size_t>(row.column)];
        out["states"][std::string(row.name)] = state ? Json(name_of(*state)) : Json(nullptr);
    }
    for (const Difference& d : t.differences) out["differences"].push_back(difference(d));
    return out;
}

Json fallback(const FallbackView& f) {
    return {{"symbol", f.symbol},         {"tests", f.tests},
            {"count", f.count},           {"depend", f.depend},
            {"advice", f.advice},         {"example", null_if_empty(f.example)},
            {"url", null_if_empty(f.url)}};
}

Json names_of(const PerColumn<bool>& columns) {
    Json names = Json::array();
    for (const ColumnRow& row : kColumns)
        if (columns[static_cast<size_t>(row.column)]) names.push_back(row.name);
    return names;
}

Json upstream(const UpstreamTest& u) {
    return {{"id", u.id},
            {"url", null_if_empty(u.url)},
            {"key_line", null_if_empty(u.key_line)},
            {"columns", names_of(u.columns)}};
}

Json unloaded(const UnloadedModule& u) {
    return {{"module", u.module},
            {"url", null_if_empty(u.url)},
            {"key_line", null_if_empty(u.key_line)},
            {"columns", names_of(u.columns)}};
}

Json cuda_use(const CudaUseView& u) {
    return {{"place", u.place},
            {"url", null_if_empty(u.url)},
            {"symbol", u.symbol},
            {"source", u.source},
            {"write", null_if_empty(u.write)},
            {"ran", analysis::kRanNames[static_cast<size_t>(u.ran)]},
            {"count", u.count}};
}

Json cuda_uses(const CudaUses& uses) {
    if (!uses.unknown.empty()) return {{"unknown", uses.unknown}};
    if (uses.root.empty()) return nullptr;
    Json out{{"unknown", nullptr},
             {"root", uses.root},
             {"files", uses.files},
             {"unread", uses.unread},
             {"places", uses.places},
             {"to_change", uses.to_change},
             {"suppressed", uses.suppressed},
             {"has_record", uses.has_record},
             {"groups", Json::array()}};
    for (const CudaUseGroup& group : uses.groups) {
        Json one{{"action", group.action},
                 {"title", group.title},
                 {"changes", group.changes},
                 {"places", group.places}};
        for (size_t i = 0; i < group.by_ran.size(); ++i)
            one[std::string(analysis::kRanNames[i])] = group.by_ran[i];
        one["categories"] = Json::object();
        for (const auto& [name, places] : group.categories) one["categories"][name] = places;
        one["first"] = Json::array();
        for (const CudaUseView& use : group.first) one["first"].push_back(cuda_use(use));
        out["groups"].push_back(std::move(one));
    }
    return out;
}

}  // namespace

void porting_json(const PortingView& view, const Sink& sink) {
    const auto any = std::find_if(view.columns.begin(), view.columns.end(),
                                  [](const PortingColumn& c) { return c.run.has_value(); });
    Json out{
        {"format", kPortingFormat},
        {"generator", fmt::format("runner {}", kVersion)},
        {"id", view.id},
        {"suite", view.suite},
        {"commit", any == view.columns.end() ? Json(nullptr) : null_if_empty(any->run->commit)},
        {"torch", any == view.columns.end() ? Json(nullptr) : null_if_empty(any->run->torch)},
        {"compared", view.compared},
        {"cuda_uses", cuda_uses(view.cuda_uses)},
        {"columns", Json::array()},
        {"not_loaded", Json::array()},
        {"kept_going", Json::array()},
        {"random", nullptr},
        {"unlike", Json::array()},
        {"accounting", {{"closed", view.accounting.closed}, {"mismatches", Json::array()}}},
        {"causes", Json::array()},
        {"decided_by_fallback", view.decided_by_fallback},
        {"fallbacks", Json::array()},
        {"upstream", Json::array()},
        {"tests", Json::array()}};
    for (const ColumnRow& row : kColumns) out["columns"].push_back(column(view, row));
    for (const UnloadedModule& u : view.unloaded) out["not_loaded"].push_back(unloaded(u));
    for (const FurtherRun& kept : view.kept_going)
        out["kept_going"].push_back({{"column", row_of(kept.column).name},
                                     {"simulated", kept.run.simulated.value_or("")},
                                     {"run", kept.run.id},
                                     {"report", kept.report_url}});
    if (view.random)
        out["random"] = {{"streams", view.random->run.seeds},
                         {"run", view.random->run.id},
                         {"report", view.random->report_url}};
    for (const InputDifference& input : view.input_differences) {
        Json values = Json::object();
        for (const ColumnRow& row : kColumns)
            values[std::string(row.name)] =
                null_if_empty(input.values[static_cast<size_t>(row.column)]);
        out["unlike"].push_back({{"what", input.name}, {"values", values}});
    }
    for (const AccountingMismatch& m : view.accounting.mismatches)
        out["accounting"]["mismatches"].push_back({{"column", m.module}, {"message", m.message}});
    for (const CauseOfDifferences& c : view.causes) out["causes"].push_back(cause(c));
    for (const FallbackView& f : view.fallbacks) out["fallbacks"].push_back(fallback(f));
    for (const UpstreamTest& u : view.upstream) out["upstream"].push_back(upstream(u));
    for (const PortedTest& t : view.tests) out["tests"].push_back(test(t));
    sink(out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace compat::reports
