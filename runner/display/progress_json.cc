#include "runner/display/progress_json.h"

#include <nlohmann/json.hpp>

#include "runner/base/names.h"
#include "runner/base/secrets.h"

namespace compat::display {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kProgressFormat = 1;
constexpr size_t kTextBytes = 300;

std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Adds `<key>_cut` if the text was too long. Masked first: a part of a secret is not recognized.
void add_text(Json& json, const std::string& key, const std::string& unmasked) {
    const std::string text = mask_own_secrets(unmasked);
    const std::string_view kept = first_bytes(text, kTextBytes);
    json[key] = kept;
    if (kept.size() < text.size()) json[key + "_cut"] = true;
}

std::vector<std::string> masked(std::vector<std::string> words) {
    for (auto& word : words) word = mask_own_secrets(word);
    return words;
}

Json outcome_of(const ProcessEnd& end) {
    using Kind = ProcessEnd::Kind;
    Json json{{"kind", name_of(end.kind)}};
    if (end.kind == Kind::exited) json["code"] = end.code;
    if (end.kind == Kind::signaled) json["signal"] = end.code;
    if (end.kind == Kind::timed_out) {
        json["limit_s"] = end.limit_s;
        json["test"] = end.of_test;
    }
    if (end.kind == Kind::out_of_memory) json["limit_bytes"] = end.limit_bytes;
    json["words"] = describe(end);
    return json;
}

class ToJson {
  public:
    ToJson(const std::string& run, const std::map<size_t, RunningJob>& running, const Moment& now)
        : run_(run), running_(running), now_(now) {}

    Json operator()(const exec::RunStarted& e) const {
        return {
            {"format", kProgressFormat}, {"run", run_}, {"jobs", e.jobs}, {"parallel", e.parallel}};
    }
    Json operator()(const exec::JobStarted& e) const {
        Json json = of(e.job);
        json["pid"] = e.pid;
        json["forked"] = e.forked;
        return json;
    }
    Json operator()(const exec::JobProgress& e) const {
        Json json = of(e.job);
        add(json, e.progress);
        return json;
    }
    Json operator()(const exec::JobFinished& e) const {
        Json json = of(e.job);
        json["outcome"] = outcome_of(e.end);
        json["forked"] = e.forked;
        json["duration_s"] = e.cost.duration_s;
        json["user_s"] = e.cost.user_s;
        json["system_s"] = e.cost.system_s;
        json["peak_rss_bytes"] = e.cost.peak_rss_bytes;
        json["read_bytes"] = e.cost.read_bytes;
        json["written_bytes"] = e.cost.written_bytes;
        json["dropped_log_bytes"] = e.cost.dropped_log_bytes;
        json["leaked"] = Json::array();
        for (const auto& leaked : e.leaked)
            json["leaked"].push_back(
                {{"pid", leaked.pid}, {"argv", masked(leaked.argv)}, {"killed", leaked.killed}});
        json["trouble"] = e.infrastructure_error
                              ? Json(mask_own_secrets(to_line(*e.infrastructure_error)))
                              : Json();
        return json;
    }
    Json operator()(const exec::Note& e) const { return {{"text", mask_own_secrets(e.text)}}; }
    Json operator()(const exec::Tick&) const { return {}; }
    Json operator()(const exec::StatusRequested&) const {
        Json running = Json::array();
        for (const auto& [job, at] : running_) {
            Json json = of(job);
            json["pid"] = at.pid;
            json["age_s"] = seconds_between(at.since, now_.steady);
            add(json, at.progress);
            json["current_age_s"] = at.progress.current.empty()
                                        ? Json()
                                        : Json(seconds_between(at.progress.since, now_.steady));
            running.push_back(std::move(json));
        }
        return {{"running", std::move(running)}};
    }
    Json broken(const exec::TestEnd& end, size_t job, bool last) const {
        Json json = of(job);
        json["id"] = end.id;
        json["state"] = end.state;
        add_text(json, "why", key_line_of(end));
        json["final"] = last;
        return json;
    }
    Json operator()(const exec::Paused&) const { return Json::object(); }
    Json operator()(const exec::Resumed&) const { return Json::object(); }
    Json operator()(const exec::RunFinished& e) const {
        return {
            {"stopped", e.stopped}, {"reason", e.reason}, {"not_started", e.not_started.size()}};
    }

  private:
    Json of(size_t job) const {
        const auto at = running_.find(job);
        if (at == running_.end()) return {{"job", job}};
        return {{"job", job}, {"module", at->second.module}, {"attempt", at->second.attempt}};
    }
    static void add(Json& json, const exec::Progress& progress) {
        json["ready"] = progress.ready;
        json["collected"] = progress.collected;
        json["ended"] = progress.ended;
        json["current"] = progress.current.empty() ? Json() : Json(progress.current);
    }

    const std::string& run_;
    const std::map<size_t, RunningJob>& running_;
    const Moment& now_;
};

// In the order of the variant; empty: not printed.
constexpr std::array<const char*, std::variant_size_v<exec::RunEvent>> kEventNames{
    "run_started", "job_started", "job_progress", "job_finished", "note", "",
    "status",      "paused",      "resumed",      "run_finished"};

std::string line_of(const char* name, const Moment& now, Json keys) {
    Json json{{"event", name}, {"time", iso8601(now.wall)}};
    json.update(keys);
    return text_of(json);
}

}  // namespace

double seconds_between(SteadyTime from, SteadyTime to) {
    return std::chrono::duration<double>(to - from).count();
}

std::string progress_line(const exec::RunEvent& event, const std::string& run,
                          const std::map<size_t, RunningJob>& running, const Moment& now) {
    const char* name = kEventNames[event.index()];
    if (*name == '\0') return {};
    return line_of(name, now, std::visit(ToJson{run, running, now}, event));
}

std::string broken_line(const exec::TestEnd& end, size_t job, bool last,
                        const std::map<size_t, RunningJob>& running, const Moment& now) {
    return line_of("test_broken", now, ToJson{{}, running, now}.broken(end, job, last));
}

std::string key_line_of(const exec::TestEnd& end) {
    parsers::Failure failure;
    failure.type = end.type;
    failure.message = end.message;
    return failure.key_line();
}

std::string module_line(const ModuleDone& done, const Moment& now) {
    const auto& record = done.verdicts.record;
    Json counts = Json::object(), unexpected = Json::array(), flaky = Json::array();
    for (const auto name : parsers::kStateNames) counts[std::string(name)] = 0;
    for (size_t i = 0; i < record.cases.size(); ++i) {
        const auto& test = record.cases[i];
        const std::string state(name_of(test.state));
        counts[state] = counts[state].get<int>() + 1;
        if (analysis::needs_attention(test.state))
            add_text(unexpected.emplace_back(Json{{"id", test.id}, {"state", state}}), "why",
                     test.why());
        if (done.verdicts.tests[i].flaky) flaky.push_back(test.id);
    }
    Json json{{"module", done.path}, {"outcome", name_of(record.outcome)}, {"reason", nullptr}};
    if (!record.reason.empty()) add_text(json, "reason", record.reason);
    json.update({{"attempts", done.attempts},
                 {"duration_s", done.duration_s},
                 {"counts", std::move(counts)},
                 {"broken", std::move(unexpected)},
                 {"flaky", std::move(flaky)}});
    return line_of("module_finished", now, std::move(json));
}

}  // namespace compat::display
