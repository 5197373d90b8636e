#include "runner/run/shards/shards_of_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>

#include "runner/archive/run_record.h"
#include "runner/plan/cut.h"

namespace compat::run {

namespace fs = std::filesystem;
using archive::ShardFolder;
using archive::ShardPlan;

namespace {

bool is_of(const ShardPlan* plan, const store::RunInfo& info) {
    return !plan || info.plan == plan->run.id || info.plan == plan->cut;
}

// Whether a folder has the name that the plan gives its shards.
bool is_named_by(const ShardPlan* plan, const std::string& record) {
    return plan && fs::path(record).parent_path().filename().string().starts_with(plan->run.id);
}

// The run of a run's folder, or every shard of a results folder.
Expected<void> find_shards(const std::string& name, const ShardPlan* plan, bool allow_missing,
                           std::vector<ShardFolder>& into) {
    const fs::path folder = fs::absolute(name);
    if (archive::has_record(folder)) {
        const auto info = archive::read_run_info(folder);
        if (!info) return tl::unexpected(info.error());
        if (info->shard.empty())
            return fail(ErrorKind::usage, "this run is not a shard", "merge runs made with --shard",
                        folder.string());
        if (!is_of(plan, *info))
            return fail(ErrorKind::usage, "this shard is of another plan",
                        "name the plan that it was run with", folder.string());
        into.push_back({folder, *info});
        return {};
    }
    std::error_code error;
    if (!fs::is_directory(folder / "runs", error))
        return fail(ErrorKind::usage, "this is no run's folder and no results folder",
                    "name a folder that `runner --shard I/N` wrote", folder.string());
    auto found = archive::shard_folders(folder);
    // An unreadable record may be a shard's: an older run of that shard must not stand in for it.
    // The shards of a plan's file have names of their own.
    for (const Error& unreadable : found.errors)
        if (!plan || (is_named_by(plan, unreadable.where) && !allow_missing))
            return tl::unexpected(unreadable);
    for (auto& shard : found.shards)
        if (is_of(plan, shard.info)) into.push_back(std::move(shard));
    return {};
}

bool fit(const store::RunInfo& a, const store::RunInfo& b) {
    const auto compared = [](const store::RunInfo& i) {
        return std::tie(i.plan, i.suite, i.framework, i.shim, i.policy, i.masquerade, i.device,
                        i.simulated, i.fallback, i.keep_going, i.seeds, i.commit, i.torch,
                        i.expectations, i.isolation, i.network, i.column);
    };
    return compared(a) == compared(b);
}

Expected<FoundShard> with_end(ShardFolder shard) {
    auto record = archive::read_record(shard.folder);
    if (!record) return tl::unexpected(record.error());
    return FoundShard{std::move(shard), std::move(record->end), record->states};
}

Expected<void> check_all(const ShardsOfRun& run, const std::vector<std::string>& others,
                         const ShardPlan* plan) {
    std::vector<std::string> missing, incomplete;
    for (std::size_t i = 1; i <= run.count; ++i) {
        const auto at = run.found.find(i);
        if (at == run.found.end())
            missing.push_back(fmt::format("{}/{}", i, run.count));
        else if (!at->second.complete())
            incomplete.push_back(at->second.shard.info.id);
    }
    const char* const or_merge = plan ? ", or merge what is there with --allow-missing" : "";
    if (!missing.empty())
        return fail(
            ErrorKind::usage, fmt::format("shards are missing: {}", fmt::join(missing, ", ")),
            others.empty()
                ? fmt::format("name the folders that hold them{}", or_merge)
                : fmt::format("these are of another plan: {}; shards fit together where suite, "
                              "targets, settings, expectations and known durations are the same",
                              fmt::join(others, ", ")));
    if (!incomplete.empty())
        return fail(ErrorKind::usage,
                    fmt::format("shards are not complete: {}", fmt::join(incomplete, ", ")),
                    fmt::format("`runner resume RUN` continues each of them{}",
                                plan ? or_merge : ", or merge them with --allow-missing"));
    return {};
}

}  // namespace

bool ShardsOfRun::all_complete() const {
    return found.size() == count && std::all_of(found.begin(), found.end(), [](const auto& shard) {
               return shard.second.complete();
           });
}

Expected<ShardsOfRun> find_shards_of_run(const std::vector<std::string>& folders,
                                         const ShardPlan* plan, bool allow_missing) {
    std::vector<ShardFolder> shards;
    for (const auto& name : folders)
        if (auto listed = find_shards(name, plan, allow_missing, shards); !listed)
            return tl::unexpected(listed.error());
    std::stable_sort(shards.begin(), shards.end(),
                     [](const auto& a, const auto& b) { return a.info.started > b.info.started; });
    if (shards.empty() && !(plan && allow_missing))
        return fail(ErrorKind::usage, "no shards in these folders", "merge runs made with --shard");
    ShardsOfRun run;
    if (plan) run.count = plan->shards.size();
    std::map<std::size_t, ShardFolder> chosen;
    std::vector<std::string> others;
    const auto newest = shards.empty() ? store::RunInfo{} : shards.front().info;
    for (auto& shard : shards) {
        const auto part = plan::parse_shard(shard.info.shard);
        if (!part) return tl::unexpected(part.error());
        if (run.count == 0) run.count = part->count;
        // What ran by the plan's file belongs to it: left out, its results would be lost unseen.
        const bool is_planned = plan && allow_missing && shard.info.plan == plan->run.id;
        if ((fit(shard.info, newest) || is_planned) && part->count == run.count)
            chosen.try_emplace(part->index, std::move(shard));
        else
            others.push_back(fmt::format("{} ({})", shard.info.id, shard.info.shard));
    }
    for (auto& [index, shard] : chosen) {
        auto found = with_end(std::move(shard));
        if (!found) return tl::unexpected(found.error());
        run.found.emplace(index, std::move(*found));
    }
    if (allow_missing && !plan && run.found.size() < run.count)
        return fail(ErrorKind::usage, "the modules of missing shards are not known",
                    "name their plan with --plan; `runner plan SUITE --shards N` makes it again",
                    "--allow-missing");
    if (!allow_missing)
        if (auto checked = check_all(run, others, plan); !checked)
            return tl::unexpected(checked.error());
    return run;
}

}  // namespace compat::run
