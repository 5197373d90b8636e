#include "runner/archive/gap_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runner/base/files.h"

namespace compat::archive {

using Json = nlohmann::ordered_json;

namespace {

constexpr int kGapFormat = 1;

Expected<void> append(const fs::path& results, Json json) {
    json["time_ms"] = SystemClock().wall().time_since_epoch().count();
    return append_line(FileBelow::followed(results / "gaps.jsonl"),
                       json.dump(-1, ' ', false, Json::error_handler_t::replace), true);
}

Json json_of(const GapKey& key) {
    return {{"symbol", key.symbol},
            {"kind", name_of(key.kind)},
            {"device", key.device},
            {"simulated", key.simulated}};
}

template <class Enum, size_t N>
Enum word(const std::array<std::string_view, N>& names, const Json& json) {
    const auto it = std::find(names.begin(), names.end(), json.get<std::string>());
    if (it == names.end()) throw Json::other_error::create(501, "an unknown word", nullptr);
    return static_cast<Enum>(it - names.begin());
}

GapKey key_of(const Json& json) {
    return {json.at("symbol"), word<GapKind>(kGapKindNames, json.at("kind")), json.at("device"),
            json.at("simulated")};
}

GapFacts facts_of(const Json& json) {
    return {key_of(json), json.at("equivalent"), json.at("description"),
            word<Severity>(kSeverityNames, json.at("severity")), json.at("action")};
}

}  // namespace

Expected<void> put_scan(const store::Store& store, const fs::path& results,
                        const std::vector<GapFacts>& gaps, std::string_view device,
                        std::string_view torch) {
    Json json{{"event", "scan"}, {"format", kGapFormat}, {"device", device}, {"torch", torch}};
    json["gaps"] = Json::array();
    for (const GapFacts& facts : gaps) {
        Json& gap = json["gaps"].emplace_back(json_of(facts.key));
        gap["equivalent"] = facts.equivalent;
        gap["description"] = facts.description;
        gap["severity"] = name_of(facts.severity);
        gap["action"] = facts.action;
    }
    return append(results, std::move(json)).and_then([&] {
        return store::GapLog(store).put_scan(gaps, device, torch);
    });
}

Expected<void> set_gap(const store::Store& store, const fs::path& results, const GapKey& gap,
                       std::string_view field, std::string_view value) {
    Json json{{"event", "set"}, {"format", kGapFormat}, {"field", field}, {"value", value}};
    json.update(json_of(gap));
    return append(results, std::move(json)).and_then([&] {
        return store::GapLog(store).set(gap, field, value);
    });
}

std::vector<GapRecord> read_gap_records(const fs::path& results) {
    std::vector<GapRecord> records;
    const std::string text = read_file(results / "gaps.jsonl").value_or("");
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        GapRecord record{{}, text.substr(begin, end - begin)};
        const Json json = Json::parse(record.line, nullptr, false);
        if (json.is_object() && json.contains("time_ms") && json["time_ms"].is_number_integer())
            record.time = WallTime(Milliseconds(json["time_ms"].get<std::int64_t>()));
        records.push_back(std::move(record));
        begin = end + 1;
    }
    return records;
}

Expected<void> apply(const GapRecord& record, store::GapLog& log) {
    try {
        const Json json = Json::parse(record.line);
        if (json.at("format") > kGapFormat)
            return fail(ErrorKind::usage, "a newer runner wrote this", "update the runner");
        if (json.at("event") == "set")
            return log.set(key_of(json), json.at("field").get<std::string>(),
                           json.at("value").get<std::string>());
        std::vector<GapFacts> gaps;
        for (const Json& gap : json.at("gaps")) gaps.push_back(facts_of(gap));
        return log.put_scan(gaps, json.at("device").get<std::string>(),
                            json.at("torch").get<std::string>());
    } catch (const Json::exception&) {
        return fail(ErrorKind::usage, "a line of gaps.jsonl cannot be read");
    }
}

}  // namespace compat::archive
