#include "runner/run/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/archive/temp_output.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/plan/plan.h"
#include "runner/run/fingerprint.h"
#include "runner/run/reporting.h"

namespace compat::run {

namespace fs = std::filesystem;
using config::Setting;

namespace {

struct ShardRun {
    fs::path folder;
    archive::RunRecord record;
};

// The run of a run's folder, or every shard of a results folder.
Expected<void> find_shards(const std::string& name, std::vector<archive::ShardFolder>& into) {
    const fs::path folder = fs::absolute(name);
    if (archive::has_record(folder)) {
        const auto info = archive::read_run_info(folder);
        if (!info) return tl::unexpected(info.error());
        if (info->shard.empty())
            return fail(ErrorKind::usage, "this run is not a shard",
                        "merge runs made with --shard I/N", folder.string());
        into.push_back({folder, *info});
        return {};
    }
    std::error_code error;
    if (!fs::is_directory(folder / "runs", error))
        return fail(ErrorKind::usage, "this is no run's folder and no results folder",
                    "name a folder that `runner --shard I/N` wrote", folder.string());
    auto found = archive::shard_folders(folder);
    // An unreadable record may be a shard's: an older run of that shard must not stand in for it.
    if (!found.errors.empty()) return tl::unexpected(found.errors.front());
    std::move(found.shards.begin(), found.shards.end(), std::back_inserter(into));
    return {};
}

// The newest of each shard of the plan of the newest of all.
Expected<std::vector<ShardRun>> newest_plan(std::vector<archive::ShardFolder> shards) {
    std::stable_sort(shards.begin(), shards.end(),
                     [](const auto& a, const auto& b) { return a.info.started > b.info.started; });
    if (shards.empty())
        return fail(ErrorKind::usage, "no shards in these folders",
                    "merge runs made with --shard I/N");
    const store::RunInfo newest = shards.front().info;
    const auto fits = [&](const store::RunInfo& info) {
        const auto compared = [](const store::RunInfo& i) {
            return std::tie(i.plan, i.suite, i.framework, i.shim, i.policy, i.masquerade, i.device,
                            i.simulated, i.fallback, i.keep_going, i.seeds, i.commit, i.torch,
                            i.expectations, i.column);
        };
        return compared(info) == compared(newest);
    };
    size_t count = 0;
    std::map<size_t, archive::ShardFolder> chosen;
    std::vector<std::string> others;
    for (auto& shard : shards) {
        const auto part = plan::parse_shard(shard.info.shard);
        if (!part) return tl::unexpected(part.error());
        if (count == 0) count = part->count;
        if (fits(shard.info) && part->count == count)
            chosen.try_emplace(part->index, std::move(shard));
        else
            others.push_back(fmt::format("{} ({})", shard.info.id, shard.info.shard));
    }
    std::vector<std::string> missing, incomplete;
    for (size_t i = 1; i <= count; ++i)
        if (!chosen.contains(i)) missing.push_back(fmt::format("{}/{}", i, count));
    if (!missing.empty())
        return fail(
            ErrorKind::usage, fmt::format("shards are missing: {}", fmt::join(missing, ", ")),
            others.empty()
                ? "name the folders that hold them"
                : fmt::format("these are of another plan: {}; shards fit together where suite, "
                              "targets, settings, expectations and known durations are the same",
                              fmt::join(others, ", ")));
    std::vector<ShardRun> plan;
    for (const auto& [index, shard] : chosen) {
        auto record = archive::read_record(shard.folder);
        if (!record) return tl::unexpected(record.error());
        if (!record->end || !record->end->complete) incomplete.push_back(record->info.id);
        plan.push_back({shard.folder, std::move(*record)});
    }
    if (!incomplete.empty())
        return fail(ErrorKind::usage,
                    fmt::format("shards are not complete: {}", fmt::join(incomplete, ", ")),
                    "`runner resume RUN` continues each of them");
    return plan;
}

Expected<void> copy_files(const fs::path& shard, const fs::path& to) {
    const fs::path from = shard / "modules";
    std::error_code error;
    if (!fs::exists(from, error)) return {};
    fs::copy(from, to / "modules", fs::copy_options::recursive, error);
    if (error)
        return fail(ErrorKind::io, "cannot copy a shard's files: " + error.message(), {},
                    from.string());
    return {};
}

Expected<void> record_module(const fs::path& folder, const store::StoredModule& module) {
    auto recorded = archive::record_plan(folder, {module.path});
    for (const auto* jobs : {&module.attempts, &module.diagnostics})
        for (const store::JobResult& job : *jobs)
            recorded = recorded.and_then([&] { return archive::record_attempt(folder, job); });
    return recorded;
}

}  // namespace

Expected<ExitCode> merge_shards(const std::vector<std::string>& folders,
                                const config::Invocation& invocation) {
    std::vector<archive::ShardFolder> found;
    for (const auto& name : folders)
        if (auto listed = find_shards(name, found); !listed) return tl::unexpected(listed.error());
    const auto shards = newest_plan(std::move(found));
    if (!shards) return tl::unexpected(shards.error());
    const auto settings = config::Settings::resolve(invocation, nullptr);
    if (!settings) return tl::unexpected(settings.error());

    archive::RunFolder run;
    run.results = fs::absolute(settings->text(Setting::results));
    auto store = archive::open_results(run.results);
    if (!store) return tl::unexpected(store.error());
    store::RunInfo info = shards->front().record.info;
    for (const auto& shard : *shards)
        info.started = std::max(info.started, shard.record.info.started);
    run.started = info.started;
    run.id = make_run_id(info.series, run.started, std::random_device{}());
    run.folder = run.results / "runs" / run.id;
    info.id = run.id;
    info.shard.clear();
    info.folder = "runs/" + run.id;
    info.argv = masked(invocation.argv);
    archive::TempOutput output(run.folder, report_interruption(run.id));
    if (auto made = make_directories(run.folder); !made) return tl::unexpected(made.error());
    for (const auto& shard : *shards)
        if (auto copied = copy_files(shard.folder, run.folder); !copied)
            return tl::unexpected(copied.error());

    store::StoredRun merged;
    merged.info = std::move(info);
    store::RunEnd& end = merged.end.emplace();
    std::vector<ExitCode> codes;
    for (const auto& shard : *shards) {
        const store::RunEnd& its = *shard.record.end;
        end.finished = std::max(end.finished, its.finished);
        end.duration_s = std::max(end.duration_s, its.duration_s);
        end.complete = end.complete && its.complete;
        end.accounting_closed = end.accounting_closed && its.accounting_closed;
        end.mismatches.insert(end.mismatches.end(), its.mismatches.begin(), its.mismatches.end());
        if (end.not_run_reason.empty()) end.not_run_reason = its.not_run_reason;
        // Kept, not computed from the files: they do not hold --flaky-fails, names that no test
        // has, or trouble with the disk.
        codes.push_back(static_cast<ExitCode>(its.exit_code));
    }
    const ExitCode code = worst(codes);
    end.exit_code = static_cast<int>(code);
    if (auto recorded = archive::record_run(run.folder, merged.info); !recorded)
        return tl::unexpected(recorded.error());
    const auto added =
        store->add_run(merged, [&](const store::ModuleVisitor& see) -> Expected<void> {
            const auto record_and_see = [&](store::StoredModule module) -> Expected<void> {
                if (auto recorded = record_module(run.folder, module); !recorded) return recorded;
                return see(std::move(module));
            };
            for (const auto& shard : *shards)
                if (auto read = archive::each_shard_module(shard.record, shard.folder, run.folder,
                                                           record_and_see);
                    !read)
                    return read;
            output.hold();
            return archive::record_end(run.folder, end);
        });
    if (!added) return tl::unexpected(added.error());
    output.keep();
    if (auto reported = report_run(*store, run); !reported) return tl::unexpected(reported.error());
    return code;
}

}  // namespace compat::run
