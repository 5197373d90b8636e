#include "runner/archive/shard_plan.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "runner/archive/run_record.h"
#include "runner/base/files.h"
#include "runner/base/names.h"

namespace compat::archive {

using Json = nlohmann::ordered_json;

namespace {

struct FileKind {
    const char* what;
    const char* advice;
    int format;
};
constexpr FileKind kPlan{"a plan of shards", "make it with `runner plan SUITE --out FILE`", 1};
constexpr FileKind kReasons{"a file of reasons for shards",
                            "write it as docs/reference/file-formats.md describes it", 1};

std::string line_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json json_of(const PlannedShard& shard) {
    Json json{{"expected_s", nullptr}, {"modules", Json::array()}};
    if (shard.expected_s) json["expected_s"] = *shard.expected_s;
    for (const PlannedModule& module : shard.modules)
        json["modules"].push_back({{"path", module.path}, {"only", module.only}});
    return json;
}

PlannedShard shard_of(const Json& json) {
    PlannedShard shard;
    if (const Json& seconds = json.at("expected_s"); !seconds.is_null())
        shard.expected_s = seconds.get<double>();
    for (const Json& module : json.at("modules"))
        shard.modules.push_back(
            {module.at("path"), module.at("only").get<std::vector<std::string>>()});
    return shard;
}

Expected<Json> read_object(const fs::path& file, const FileKind& kind,
                           const Json::parser_callback_t& keep = nullptr) {
    std::error_code error;
    if (!fs::exists(file, error))
        return fail(ErrorKind::usage, "there is no such file", kind.advice, file.string());
    auto text = TRY(read_file(file));
    Json json = Json::parse(text, keep, false);
    if (!json.is_object() || !json.contains("format"))
        return fail(ErrorKind::usage, fmt::format("this is not {}", kind.what), kind.advice,
                    file.string());
    if (json["format"] != kind.format)
        return fail(ErrorKind::usage,
                    fmt::format("it has format {}, but this runner reads format {}",
                                json["format"].dump(), kind.format),
                    "use the runner that it is for", file.string());
    return json;
}

tl::unexpected<Error> malformed(const fs::path& file, const FileKind& kind,
                                const std::exception& error) {
    return fail(ErrorKind::usage, fmt::format("this is not {}: {}", kind.what, error.what()),
                kind.advice, file.string());
}

}  // namespace

// A line for each shard: people and `grep` find a module's shard.
Expected<void> write_shard_plan(const fs::path& file, const ShardPlan& plan) {
    auto out = TRY(AtomicFile::create(file));
    const Json head{{"format", kPlan.format},
                    {"id", plan.run.id},
                    {"cut", plan.cut},
                    {"runner", kVersion},
                    {"jobs", plan.jobs},
                    {"run", run_as_json(plan.run)},
                    {"keyword", plan.asked.keyword},
                    {"maxfail", plan.asked.maxfail},
                    {"flaky_fails", plan.asked.flaky_fails},
                    {"fail_on", plan.asked.fail_on}};
    std::string text = "{\n";
    for (const auto& [key, value] : head.items())
        text += fmt::format("{}: {},\n", line_of(key), line_of(value));
    out.write(text + "\"shards\": [");
    for (std::size_t i = 0; i < plan.shards.size(); ++i)
        out.write((i > 0 ? ",\n" : "\n") + line_of(json_of(plan.shards[i])));
    out.write("\n]}\n");
    return out.commit();
}

Expected<ShardPlan> read_shard_plan(const fs::path& file) {
    ShardPlan plan;
    std::string member;
    // Shards are taken one by one: as one value, those of 200,000 modules need 150 MB.
    const auto keep = [&](int depth, Json::parse_event_t event, Json& value) {
        if (event == Json::parse_event_t::key && depth == 1) member = value.get<std::string>();
        if (event != Json::parse_event_t::object_end || depth != 2 || member != "shards")
            return true;
        plan.shards.push_back(shard_of(value));
        return false;
    };
    try {
        const auto json = TRY(read_object(file, kPlan, keep));
        plan.cut = json.at("cut");
        plan.jobs = json.at("jobs");
        run_from_json(json.at("run"), plan.run);
        plan.run.id = json.at("id");
        plan.asked.suite = plan.run.suite;
        plan.asked.root = plan.run.root;
        plan.asked.keyword = json.at("keyword");
        plan.asked.maxfail = json.at("maxfail");
        plan.asked.flaky_fails = json.at("flaky_fails");
        plan.asked.fail_on = json.at("fail_on").get<std::vector<std::string>>();
        // The shards were taken out before, so the rest is not a shard.
        if (const Json& rest = json.at("shards"); !rest.is_array() || !rest.empty())
            return fail(ErrorKind::usage, "this plan's shards cannot be read", kPlan.advice,
                        file.string());
        if (plan.run.id.empty() || plan.run.id.find('/') != std::string::npos)
            return fail(ErrorKind::usage, "this plan's id names no run", kPlan.advice,
                        file.string());
        return plan;
    } catch (const Json::exception& error) {
        return malformed(file, kPlan, error);
    }
}

std::string run_id_of_shard(const ShardPlan& plan, std::size_t index) {
    return fmt::format("{}-{}", plan.run.id, index);
}

Expected<ShardReasons> read_shard_reasons(const fs::path& file, const ShardPlan& plan) {
    const auto json = TRY(read_object(file, kReasons));
    try {
        if (json.at("plan") != plan.run.id)
            return fail(ErrorKind::usage,
                        fmt::format("its reasons are for the plan {}, not for {}",
                                    json.at("plan").dump(), plan.run.id),
                        "name the file of this plan", file.string());
        ShardReasons reasons;
        for (const auto& [shard, reason] : json.at("reasons").items()) {
            std::size_t index = 0;
            const auto end = shard.data() + shard.size();
            if (std::from_chars(shard.data(), end, index).ptr != end || index < 1 ||
                index > plan.shards.size())
                return fail(ErrorKind::usage, fmt::format("the plan has no shard \"{}\"", shard),
                            fmt::format("shards count from 1 to {}", plan.shards.size()),
                            file.string());
            reasons[index] = reason.get<std::string>();
        }
        return reasons;
    } catch (const Json::exception& error) {
        return malformed(file, kReasons, error);
    }
}

}  // namespace compat::archive
