#include "runner/cluster/shards_of_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/archive/run_record.h"
#include "runner/base/run/run_fields.h"
#include "runner/plan/cut.h"

namespace compat::cluster {

using archive::ShardFolder;
using archive::ShardPlan;

namespace {

bool is_of(const ShardPlan* plan, const store::RunInfo& info) {
    return !plan || info.plan == plan->run.id || info.plan == plan->cut;
}

// The shard whose folder has this name; 0: none of the plan.
std::size_t index_by_name(const ShardPlan& plan, const std::string& name) {
    for (std::size_t i = 1; i <= plan.shards.size(); ++i)
        if (name == archive::run_id_of_shard(plan, i)) return i;
    return 0;
}

struct Listed {
    std::vector<ShardFolder> shards;
    std::map<std::size_t, std::string> lost;  // as in ShardsOfRun
};

// The shards of a plan's file have names of their own. A folder without a readable record is that
// of a shard that has run nothing, or whose results are lost: whoever reads the report must know.
Expected<void> list_planned(const fs::path& results, const archive::ShardFolders& found,
                            const ShardPlan& plan, bool allow_missing, Listed& into) {
    for (const Error& error : found.errors) {
        const fs::path where = error.where;
        if (where.filename() == "runs") return tl::unexpected(error);  // they could not be listed
        const auto index = index_by_name(plan, where.parent_path().filename().string());
        if (index == 0) continue;
        if (!allow_missing) return tl::unexpected(error);
        into.lost.emplace(index, "its record cannot be read: " + to_line(error));
    }
    for (std::size_t i = 1; i <= plan.shards.size(); ++i) {
        const fs::path folder = results / "runs" / archive::run_id_of_shard(plan, i);
        std::error_code error;
        if (fs::exists(folder, error) && !archive::has_record(folder))
            into.lost.emplace(i, fmt::format("its folder has no record: {}", folder.string()));
    }
    return {};
}

// The run of a run's folder, or every shard of a results folder.
Expected<void> find_shards(const std::string& name, const ShardPlan* plan, bool allow_missing,
                           Listed& into) {
    const fs::path folder = fs::absolute(name);
    if (archive::has_record(folder)) {
        const auto info = TRY(archive::read_run_info(folder));
        if (info.shard.empty())
            return fail(ErrorKind::usage, "this run is not a shard", "merge runs made with --shard",
                        folder.string());
        if (!is_of(plan, info))
            return fail(ErrorKind::usage, "this shard is of another plan",
                        "name the plan that it was run with", folder.string());
        into.shards.push_back({folder, info});
        return {};
    }
    std::error_code error;
    if (!fs::is_directory(folder / "runs", error))
        return fail(ErrorKind::usage, "not a run folder or results folder",
                    "name a folder that `runner --shard I/N` wrote", folder.string());
    auto found = archive::shard_folders(folder);
    // An unreadable record may be a shard's: an older run of that shard must not stand in for it.
    if (!plan && !found.errors.empty()) return tl::unexpected(found.errors.front());
    for (auto& shard : found.shards)
        if (is_of(plan, shard.info)) into.shards.push_back(std::move(shard));
    return plan ? list_planned(folder, found, *plan, allow_missing, into) : Expected<void>{};
}

// The names of what shards of one run share and these do not; none: they fit together.
std::vector<std::string> differences(const store::RunInfo& a, const store::RunInfo& b) {
    const auto shared = [](const store::RunInfo& info) {
        std::vector<std::pair<std::string_view, std::string>> facts;
        run_fields(info, [&](const RunField& field, const auto& value) {
            if (!field.shared.empty()) facts.emplace_back(field.shared, field_text(value));
        });
        return facts;
    };
    const auto ours = shared(a), theirs = shared(b);
    std::vector<std::string> names;
    for (std::size_t i = 0; i < ours.size(); ++i)
        if (ours[i] != theirs[i]) names.emplace_back(ours[i].first);
    return names;
}

Expected<FoundShard> with_end(ShardFolder shard) {
    auto record = TRY(archive::read_record(shard.folder));
    return FoundShard{std::move(shard), std::move(record.end), record.states};
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
    Listed all;
    for (const auto& name : folders) TRY(find_shards(name, plan, allow_missing, all));
    auto& shards = all.shards;
    std::stable_sort(shards.begin(), shards.end(),
                     [](const auto& a, const auto& b) { return a.info.started > b.info.started; });
    if (shards.empty() && !(plan && allow_missing))
        return fail(ErrorKind::usage, "no shards in these folders", "merge runs made with --shard");
    ShardsOfRun run;
    run.lost = std::move(all.lost);
    if (plan) run.count = plan->shards.size();
    std::map<std::size_t, ShardFolder> chosen;
    std::vector<std::string> others;
    const auto newest = shards.empty() ? store::RunInfo{} : shards.front().info;
    for (auto& shard : shards) {
        const auto part = TRY(plan::parse_shard(shard.info.shard));
        if (run.count == 0) run.count = part.count;
        // A shard that ran by the plan's file belongs to the plan. Left out, its results would be
        // lost unseen.
        const bool is_planned = plan && allow_missing && shard.info.plan == plan->run.id;
        const auto differ = differences(shard.info, newest);
        if ((differ.empty() || is_planned) && part.count == run.count) {
            if (!differ.empty() && !chosen.contains(part.index))
                run.notes.push_back(fmt::format("{} differs from {} in: {}", shard.info.id,
                                                newest.id, fmt::join(differ, ", ")));
            chosen.try_emplace(part.index, std::move(shard));
        } else {
            others.push_back(fmt::format("{} ({})", shard.info.id, shard.info.shard));
            run.lost.emplace(part.index,
                             fmt::format("{} does not fit the other shards", shard.info.id));
        }
    }
    for (auto& [index, shard] : chosen) {
        auto found = TRY(with_end(std::move(shard)));
        run.found.emplace(index, std::move(found));
    }
    if (allow_missing && !plan && run.found.size() < run.count)
        return fail(ErrorKind::usage, "the modules of missing shards are not known",
                    "name their plan with --plan; `runner plan SUITE --shards N` makes it again",
                    "--allow-missing");
    if (!allow_missing) TRY(check_all(run, others, plan));
    return run;
}

}  // namespace compat::cluster
