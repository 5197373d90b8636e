// The one list of an attempt's fields, for the database's columns and for the lines of record.jsonl
// (runner/archive/run_record.h). Not here: an attempt's lists (tests, processes), and how a value
// becomes a column or JSON text.
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

#include "runner/store/store.h"

namespace compat::store {

// Calls `field(column, key, member)` for each field. A null column or key: not stored there. The
// record lacks what the attempt's own files hold.
template <class Job, class Field>
void attempt_fields(Job& job, Field field) {
    auto& record = job.record;
    field(nullptr, "module", record.path);
    field("number", "attempt", job.attempt);
    field("kind", "kind", job.kind);
    field("only_ids", "only", job.only);
    field("step", "step", job.step);
    field("outcome", nullptr, record.outcome);
    field("reason", nullptr, record.reason);
    field("framework", nullptr, record.framework);
    field("framework_version", nullptr, record.framework_version);
    field("python_version", nullptr, record.python_version);
    field("collected", nullptr, record.collected);
    field("forked", "forked", record.forked);
    field("ready", nullptr, record.ready);
    field("finished", nullptr, record.finished);
    field("from_text", nullptr, record.from_text);
    field("started_ms", "started_ms", job.started);
    each_cost([&](const char* name, auto member, Aggregate) { field(name, name, job.*member); });
    field("log", "log", job.log);
    field("events", "events", job.events);
    field("devices", "devices", job.devices);
    field("hub", "hub", job.hub);
    field("process_end", "process_end", job.process_end);
    field("ended", "ended", job.ended);
    field("shim", nullptr, record.shim);
    field("closing", nullptr, record.closing);
}

// The enumerator with this name. Throws std::out_of_range.
template <class Enum, size_t N>
Enum enum_named(const std::array<std::string_view, N>& names, std::string_view text) {
    for (size_t i = 0; i < N; ++i)
        if (names[i] == text) return static_cast<Enum>(i);
    throw std::out_of_range("unknown word '" + std::string(text) + "'");
}

}  // namespace compat::store

template <>
struct nlohmann::adl_serializer<compat::ProcessEnd> {
    template <class Json>
    static void to_json(Json& json, const compat::ProcessEnd& end) {
        json = Json{{"kind", name_of(end.kind)}, {"code", end.code},
                    {"detail", end.detail},      {"of_test", end.of_test},
                    {"limit_s", end.limit_s},    {"peak_rss_bytes", end.peak_rss_bytes}};
    }
    template <class Json>
    static void from_json(const Json& json, compat::ProcessEnd& end) {
        using End = compat::ProcessEnd;
        end.kind = compat::store::enum_named<End::Kind>(
            End::kKindNames, json.at("kind").template get<std::string>());
        json.at("code").get_to(end.code);
        json.at("detail").get_to(end.detail);
        json.at("of_test").get_to(end.of_test);
        json.at("limit_s").get_to(end.limit_s);
        // Missing in rows written before version 7 of the database.
        end.peak_rss_bytes = json.value("peak_rss_bytes", std::uint64_t{0});
    }
};

template <>
struct nlohmann::adl_serializer<compat::parsers::ShimSession> {
    template <class Json>
    static void to_json(Json& json, const compat::parsers::ShimSession& shim) {
        json = Json{{"version", shim.version},     {"torch", shim.torch},
                    {"host", shim.host},           {"mode", shim.mode},
                    {"simulated", shim.simulated}, {"masquerade", shim.masquerade}};
    }
    template <class Json>
    static void from_json(const Json& json, compat::parsers::ShimSession& shim) {
        json.at("version").get_to(shim.version);
        json.at("torch").get_to(shim.torch);
        json.at("host").get_to(shim.host);
        json.at("mode").get_to(shim.mode);
        json.at("simulated").get_to(shim.simulated);
        json.at("masquerade").get_to(shim.masquerade);
    }
};

template <>
struct nlohmann::adl_serializer<compat::parsers::FrameworkSummary> {
    template <class Json>
    static void to_json(Json& json, const compat::parsers::FrameworkSummary& closing) {
        json = Json{{"text", closing.text},
                    {"ran", closing.ran ? Json(*closing.ran) : Json(nullptr)},
                    {"counts", closing.counts}};
    }
    template <class Json>
    static void from_json(const Json& json, compat::parsers::FrameworkSummary& closing) {
        json.at("text").get_to(closing.text);
        if (!json.at("ran").is_null()) closing.ran = json.at("ran").template get<std::int64_t>();
        json.at("counts").get_to(closing.counts);
    }
};
