// `merge`: the shards of one plan, run on several machines, become one run.
#include "runner/run/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/temp_output.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/plan/plan.h"
#include "runner/run/reporting.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;

namespace {

struct Part {
    fs::path results;  // the folder that holds it
    store::StoredRun run;
    plan::Shard shard;
};

// Every shard that is stored in one results folder, newest first.
Expected<void> read_parts(const std::string& name, std::vector<Part>& into) {
    std::error_code error;
    const fs::path results =
        fs::absolute(fs::is_directory(name, error) ? fs::path(name) : fs::path(name).parent_path());
    const auto store = store::Store::open(results / "runner.db", store::Store::Mode::read_only);
    if (!store) return tl::unexpected(store.error());
    const auto runs = store->runs();
    if (!runs) return tl::unexpected(runs.error());
    for (const auto& summary : *runs) {
        if (summary.shard.empty()) continue;
        auto run = store->load_run(summary.id);
        if (!run) return tl::unexpected(run.error());
        const auto shard = plan::parse_shard(summary.shard);
        if (!shard) return tl::unexpected(shard.error());
        into.push_back({results, std::move(*run), *shard});
    }
    return {};
}

// The newest of each shard of the plan of the newest of all.
Expected<std::vector<Part>> one_plan(std::vector<Part> parts) {
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
        return a.run.info.started > b.run.info.started;
    });
    if (parts.empty())
        return fail(ErrorKind::usage, "no shards in these databases",
                    "merge runs made with --shard I/N");
    const store::RunInfo newest = parts.front().run.info;
    const auto fits = [&](const store::RunInfo& info) {
        const auto what = [](const store::RunInfo& i) {
            return std::tie(i.plan, i.suite, i.framework, i.shim, i.policy, i.masquerade, i.device,
                            i.simulated, i.fallback, i.commit, i.torch);
        };
        return what(info) == what(newest);
    };
    const size_t count = parts.front().shard.count;
    std::map<size_t, Part> chosen;
    std::vector<std::string> strangers;
    for (auto& part : parts) {
        const store::RunInfo& info = part.run.info;
        if (fits(info) && part.shard.count == count)
            chosen.try_emplace(part.shard.index, std::move(part));
        else
            strangers.push_back(fmt::format("{} ({})", info.id, info.shard));
    }
    std::vector<std::string> missing, unfinished;
    for (size_t i = 1; i <= count; ++i) {
        const auto part = chosen.find(i);
        if (part == chosen.end())
            missing.push_back(fmt::format("{}/{}", i, count));
        else if (!part->second.run.end || !part->second.run.end->complete)
            unfinished.push_back(part->second.run.info.id);
    }
    if (!missing.empty())
        return fail(
            ErrorKind::usage, fmt::format("shards are missing: {}", fmt::join(missing, ", ")),
            strangers.empty()
                ? "name the databases that hold them"
                : fmt::format("these are of another plan: {}; shards fit together where suite, "
                              "targets, settings and known durations are the same",
                              fmt::join(strangers, ", ")));
    if (!unfinished.empty())
        return fail(ErrorKind::usage,
                    fmt::format("shards are not complete: {}", fmt::join(unfinished, ", ")),
                    "`runner resume RUN` continues each of them");
    std::vector<Part> fitting;
    for (auto& [index, part] : chosen) fitting.push_back(std::move(part));
    return fitting;
}

Expected<void> copy_files(const Part& part, const archive::RunFolder& run) {
    const fs::path from = part.results / part.run.info.folder / "modules";
    std::error_code error;
    if (!fs::exists(from, error)) return {};
    fs::copy(from, run.folder / "modules", fs::copy_options::recursive, error);
    if (error)
        return fail(ErrorKind::io, "cannot copy a shard's files: " + error.message(), {},
                    from.string());
    return {};
}

Expected<void> read_modules(const Part& part, const store::SeeModule& see) {
    const auto from = store::Store::open(part.results / "runner.db", store::Store::Mode::read_only);
    if (!from) return tl::unexpected(from.error());
    return from->each_module(part.run.info.id, see);
}

Expected<void> record_module(const fs::path& folder, const store::StoredModule& module) {
    auto recorded = archive::record_plan(folder, {module.path});
    for (const store::JobResult& job : module.attempts)
        recorded = recorded.and_then([&] { return archive::record_attempt(folder, job); });
    return recorded;
}

}  // namespace

Expected<ExitCode> merge_shards(const std::vector<std::string>& databases,
                                const config::Invocation& invocation) {
    std::vector<Part> found;
    for (const auto& name : databases)
        if (auto read = read_parts(name, found); !read) return tl::unexpected(read.error());
    auto parts = one_plan(std::move(found));
    if (!parts) return tl::unexpected(parts.error());
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());

    archive::RunFolder run;
    run.results = fs::absolute(settings->text(Setting::results));
    auto store = archive::open_results(run.results);
    if (!store) return tl::unexpected(store.error());
    store::RunInfo info = parts->front().run.info;
    // The newest: what was merged stands before what it was merged from.
    for (const auto& part : *parts) info.started = std::max(info.started, part.run.info.started);
    run.started = info.started;
    run.id = make_run_id(info.series, run.started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;
    info.id = run.id;
    info.shard.clear();
    info.folder = "runs/" + run.id;
    info.argv = invocation.argv;
    archive::TempOutput output(run.folder, report_interruption(run.id));
    if (auto made = make_directories(run.folder); !made) return tl::unexpected(made.error());
    for (const auto& part : *parts)
        if (auto copied = copy_files(part, run); !copied) return tl::unexpected(copied.error());

    store::StoredRun merged;
    merged.info = std::move(info);
    store::RunEnd& end = merged.end.emplace();
    std::vector<ExitCode> codes;
    for (const auto& part : *parts) {
        const store::RunEnd& its = *part.run.end;
        end.finished = std::max(end.finished, its.finished);
        end.duration_s = std::max(end.duration_s, its.duration_s);
        end.complete = end.complete && its.complete;
        end.accounting_closed = end.accounting_closed && its.accounting_closed;
        end.mismatches.insert(end.mismatches.end(), its.mismatches.begin(), its.mismatches.end());
        if (end.not_run_reason.empty()) end.not_run_reason = its.not_run_reason;
        codes.push_back(static_cast<ExitCode>(its.exit_code));
    }
    const ExitCode code = worst(codes);
    end.exit_code = static_cast<int>(code);
    if (auto recorded = archive::record_run(run.folder, merged.info); !recorded)
        return tl::unexpected(recorded.error());
    const auto added = store->add_run(merged, [&](const store::SeeModule& see) -> Expected<void> {
        const auto record_and_see = [&](store::StoredModule module) -> Expected<void> {
            if (auto recorded = record_module(run.folder, module); !recorded) return recorded;
            return see(std::move(module));
        };
        for (const auto& part : *parts)
            if (auto read = read_modules(part, record_and_see); !read) return read;
        output.hold();
        return archive::record_end(run.folder, end);
    });
    if (!added) return tl::unexpected(added.error());
    output.keep();
    if (auto reported = report_run(*store, run); !reported) return tl::unexpected(reported.error());
    return code;
}

}  // namespace compat::run
