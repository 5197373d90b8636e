#include "runner/archive/run_record.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "runner/archive/attempt_files.h"
#include "runner/base/files.h"
#include "runner/base/line_reader.h"
#include "runner/base/run/run_fields.h"
#include "runner/store/attempt_fields.h"

namespace compat::archive {

using Json = nlohmann::ordered_json;
using parsers::CaseRecord;
using parsers::State;

namespace {

constexpr int kRecordFormat = 1;
// The limit of the first line, which has the whole command, and the size of one read.
constexpr std::size_t kLongestStart = 16 << 20;
constexpr std::size_t kStartPiece = 64 << 10;

fs::path file_of(const fs::path& folder) { return folder / "record.jsonl"; }

// For whoever writes them and whoever reads them.
template <class End, class Field>
void fields_of_end(End& end, Field field) {
    field("finished_ms", end.finished);
    field("duration_s", end.duration_s);
    field("complete", end.complete);
    field("exit_code", end.exit_code);
    field("accounting_closed", end.accounting_closed);
    field("not_run_reason", end.not_run_reason);
}

struct JsonWriter {
    Json& to;
    template <class T>
    void operator()(std::string_view key, const T& value) const {
        to[key] = value;
    }
    void operator()(std::string_view key, WallTime time) const {
        to[key] = time.time_since_epoch().count();
    }
    void operator()(std::string_view key, AttemptKind kind) const { to[key] = name_of(kind); }
    template <class T>
    void operator()(std::string_view key, const std::optional<T>& value) const {
        to[key] = value ? Json(*value) : Json(nullptr);
    }
};

struct JsonReader {
    const Json& from;
    template <class T>
    void operator()(std::string_view key, T& value) const {
        from.at(key).get_to(value);
    }
    void operator()(std::string_view key, WallTime& time) const {
        time = WallTime(Milliseconds(from.at(key).get<std::int64_t>()));
    }
    void operator()(std::string_view key, AttemptKind& kind) const {
        kind = attempt_kind_of(from.at(key).get<std::string>()).value_or(AttemptKind::whole);
    }
    template <class T>
    void operator()(std::string_view key, std::optional<T>& value) const {
        if (!from.at(key).is_null()) value = from.at(key).get<T>();
    }
};

Expected<void> append(const fs::path& folder, const char* event, Json json, bool sync = false) {
    Json line{{"event", event}};
    JsonWriter{line}("time_ms", SystemClock().wall());
    line.update(json);
    return append_line(file_of(folder), line.dump(-1, ' ', false, Json::error_handler_t::replace),
                       sync);
}

Json json_of(const store::JobResult& job) {
    Json json;
    store::attempt_fields(job, [&](const char*, const char* key, const auto& value) {
        if (key) JsonWriter{json}(key, value);
    });
    json["leaked"] = Json::array();
    for (const auto& process : job.leaked)
        json["leaked"].push_back(
            {{"pid", process.pid}, {"argv", process.argv}, {"killed", process.killed}});
    json["not_run"] = Json::object();  // reason: ids
    for (const CaseRecord& test : job.record.cases)
        if (test.state == State::not_run) json["not_run"][test.reason].push_back(test.id);
    return json;
}

store::JobResult job_of(const Json& json) {
    store::JobResult job;
    store::attempt_fields(job, [&](const char*, const char* key, auto& value) {
        // Fields that an older version did not record keep their defaults.
        if (key && json.contains(key)) JsonReader{json}(key, value);
    });
    for (const Json& process : json.at("leaked"))
        job.leaked.push_back({process.at("pid"), process.at("argv"), process.at("killed")});
    for (const auto& [reason, ids] : json.at("not_run").items())
        for (const Json& id : ids) {
            CaseRecord& test = job.record.cases.emplace_back();
            test.id = id.get<std::string>();
            test.state = State::not_run;
            test.reason = reason;
        }
    return job;
}

std::vector<store::JobResult>& add_module(const std::string& path, RunRecord& to) {
    const auto [at, is_new] = to.attempts.try_emplace(path);
    if (is_new) to.modules.push_back(path);
    return at->second;
}

void apply_line(const Json& line, RunRecord& into) {
    const auto event = line.at("event").get<std::string>();
    WallTime time;
    JsonReader{line}("time_ms", time);
    if (event == "run") {
        // As in job_of: what older runners did not know of a run.
        run_from_json(line, into.info);
        into.begun = time;
    } else if (event == "planned") {
        for (const Json& path : line.at("modules")) add_module(path.get<std::string>(), into);
    } else if (event == "attempt") {
        store::JobResult job = job_of(line);
        auto& jobs = add_module(job.record.path, into);
        std::erase_if(jobs, [&](const auto& known) { return known.attempt == job.attempt; });
        jobs.push_back(std::move(job));
    } else if (event == "not_run") {
        for (const Json& path : line.at("modules")) {
            add_module(path.get<std::string>(), into);
            into.not_run[path.get<std::string>()] = line.at("reason").get<std::string>();
        }
    } else if (event == "end") {
        store::RunEnd& end = into.end.emplace();
        into.states.reset();
        if (line.contains("states"))
            for (const auto& [name, count] : line["states"].items())
                if (const auto state = parsers::state_of(name))
                    (into.states ? *into.states
                                 : into.states.emplace())[static_cast<size_t>(*state)] =
                        count.get<std::int64_t>();
        fields_of_end(end, JsonReader{line});
        if (line.contains("writes")) line["writes"].get_to(end.writes);
        if (line.contains("hub")) line["hub"].get_to(end.hub.emplace());
        for (const Json& mismatch : line.at("mismatches"))
            end.mismatches.push_back({mismatch.at(0), mismatch.at(1)});
        into.ends.push_back(time);
    } else if (event == "reopened") {
        into.end.reset();
    }
}

bool is_newer(const Json& line) {
    return line.is_object() && line.contains("format") && line["format"] > kRecordFormat;
}

Error newer_record(const fs::path& folder) {
    return {ErrorKind::usage, "this record is from a newer runner", "update the runner",
            file_of(folder).string()};
}

Error no_record(const fs::path& folder) {
    return {ErrorKind::usage,
            "this folder has no record of a run: it was made by an older runner, or by none",
            {},
            file_of(folder).string()};
}

Error no_start(const fs::path& folder) {
    return {ErrorKind::usage, "this record lacks the run's start", {}, file_of(folder).string()};
}

// A recorded attempt with what its files hold; nothing if they are gone.
std::optional<store::JobResult> with_files(const RunRecord& record, const store::JobResult& known,
                                           const fs::path& folder) {
    auto again = read_attempt_again(known, record.info, folder);
    if (!again) return std::nullopt;
    store::JobResult job = known;
    job.record = std::move(*again);
    return job;
}

}  // namespace

Expected<void> record_run(const fs::path& folder, const store::RunInfo& info) {
    Json json{{"format", kRecordFormat}};
    json.update(run_as_json(info));
    return append(folder, "run", std::move(json));
}

Json run_as_json(const store::RunInfo& info) {
    Json json;
    run_fields(info, [&](const RunField& field, const auto& value) {
        JsonWriter{json}(field.key, value);
    });
    return json;
}

// As in job_of: what older runners did not know of a run keeps its default.
void run_from_json(const Json& json, store::RunInfo& info) {
    run_fields(info, [&](const RunField& field, auto& value) {
        if (json.contains(field.key)) JsonReader{json}(field.key, value);
    });
    if (!json.contains("subset")) info.subset = subset_of_older_run(info.argv);
}

Expected<void> record_plan(const fs::path& folder, const std::vector<std::string>& modules) {
    return append(folder, "planned", {{"modules", modules}});
}

Expected<void> record_attempt(const fs::path& folder, const store::JobResult& job) {
    return append(folder, "attempt", json_of(job));
}

Expected<void> record_not_run(const fs::path& folder, const std::string& reason,
                              const std::vector<std::string>& modules) {
    return append(folder, "not_run", {{"reason", reason}, {"modules", modules}});
}

Expected<void> record_end(const fs::path& folder, const store::RunEnd& end,
                          const std::optional<store::StateCounts>& states) {
    Json json;
    fields_of_end(end, JsonWriter{json});
    json["writes"] = end.writes;
    if (end.hub) json["hub"] = *end.hub;
    json["mismatches"] = Json::array();
    for (const auto& mismatch : end.mismatches)
        json["mismatches"].push_back(Json::array({mismatch.module, mismatch.message}));
    if (states)
        for (size_t i = 0; i < states->size(); ++i)
            json["states"][std::string(parsers::kStateNames[i])] = (*states)[i];
    return append(folder, "end", std::move(json), true);
}

Expected<void> record_reopened(const fs::path& folder) {
    return append(folder, "reopened", Json::object());
}

bool has_record(const fs::path& folder) {
    std::error_code error;
    return fs::exists(file_of(folder), error);
}

bool has_start(const fs::path& folder) {
    const auto info = read_run_info(folder);
    return info || info.error().message != no_start(folder).message;
}

Expected<store::RunInfo> read_run_info(const fs::path& folder) {
    if (!has_record(folder)) return tl::unexpected(no_record(folder));
    std::string line;
    bool is_first = true;
    LineReader lines(file_of(folder), {kLongestStart, kStartPiece});
    const LineVisitor see = [&](const Line& read) {
        if (std::exchange(is_first, false)) line = read.text;
    };
    for (bool more = true; more && is_first;) {
        const auto read = TRY(lines.read(see));
        more = read;
    }
    lines.finish(see);
    const Json json = Json::parse(line, nullptr, false);
    if (is_newer(json)) return tl::unexpected(newer_record(folder));
    RunRecord record;
    try {
        apply_line(json, record);
    } catch (const std::exception&) {  // of JSON: the line is incomplete
    }
    if (record.info.id.empty()) return tl::unexpected(no_start(folder));
    return record.info;
}

Expected<RunRecord> read_record(const fs::path& folder) {
    if (!has_record(folder)) return tl::unexpected(no_record(folder));
    const auto text = TRY(read_file(FileBelow(file_of(folder))));
    RunRecord record;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find('\n', begin), text.size());
        const Json line = Json::parse(text.substr(begin, end - begin), nullptr, false);
        begin = end + 1;
        if (is_newer(line)) return tl::unexpected(newer_record(folder));
        try {
            apply_line(line, record);
        } catch (const std::exception&) {  // of JSON, or a word that is none of ours
            ++record.unreadable;
        }
    }
    if (record.info.id.empty()) return tl::unexpected(no_start(folder));
    return record;
}

Expected<void> each_recorded_module(const RunRecord& record, const fs::path& folder,
                                    const OnGone& on_gone, const store::ModuleVisitor& see) {
    for (const std::string& path : record.modules) {
        store::StoredModule module{path, {}, {}, {}};
        for (const store::JobResult& known : record.attempts.at(path)) {
            auto job = with_files(record, known, folder);
            if (!job) {
                // Nobody could tell what the attempts after it were made for.
                TRY(on_gone(known));
                break;
            }
            module.add(std::move(*job));
        }
        if (const auto why = record.not_run.find(path);
            module.attempts.empty() && why != record.not_run.end())
            module.not_run_reason = why->second;
        TRY(see(std::move(module)));
    }
    return {};
}

Expected<void> store_recorded(store::Store& store, const fs::path& folder) {
    if (!has_record(folder)) return {};
    const auto record = TRY(read_record(folder));
    std::map<std::string, size_t> stored;
    TRY(store.each_module(record.info.id, [&](const store::StoredModule& module) -> Expected<void> {
        stored[module.path] = module.attempts.size() + module.diagnostics.size();
        return {};
    }));
    for (const auto& [path, attempts] : record.attempts)
        for (const store::JobResult& known : attempts) {
            if (static_cast<size_t>(known.attempt) <= stored[path]) continue;
            const auto job = with_files(record, known, folder);
            if (!job) break;
            TRY(store.save_job(record.info.id, *job));
        }
    return {};
}

}  // namespace compat::archive
