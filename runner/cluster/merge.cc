#include "runner/cluster/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>

#include "runner/analysis/attempts.h"
#include "runner/archive/attempt_files.h"
#include "runner/archive/results.h"
#include "runner/archive/run_record.h"
#include "runner/archive/shards.h"
#include "runner/archive/temp_output.h"
#include "runner/base/files.h"
#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/cluster/module_queue.h"
#include "runner/cluster/shards_of_run.h"
#include "runner/cluster/unpacked.h"
#include "runner/display/output.h"
#include "runner/run/attempt_result.h"
#include "runner/run/fingerprint.h"
#include "runner/run/reporting/reporting.h"

namespace compat::cluster {

using archive::PlannedModule;
using config::Setting;

namespace {

// A complete shard's files do not change any more: a link is as good as a copy, where the file
// system has them. 200,000 modules have 400,000 files.
Expected<void> take_file(const FileBelow& from, const FileBelow& to, bool may_link) {
    std::error_code error;
    if (may_link) {
        fs::create_directories(to.path().parent_path(), error);
        fs::create_hard_link(from.path(), to.path(), error);
        if (!error) return {};
    }
    return copy_file(from, to);
}

Expected<void> take_files(const FoundShard& shard, const fs::path& to) {
    const fs::path from = shard.shard.folder;
    return archive::each_file(from,
                              [&](const fs::path& name) -> Expected<void> {
                                  if (*name.begin() != "modules") return {};
                                  return take_file({from, name}, {to, name}, shard.complete());
                              })
        .map([&](const std::vector<std::string>& others) {
            for (const std::string& other : others)
                display::print("note: left out of {}: {}\n", printable(from.string()),
                               printable(other));
        });
}

// Why the modules of a shard did not run, or not to their end.
std::string words_of(std::size_t index, const ShardsOfRun& shards, const FoundShard* shard,
                     const archive::ShardReasons& reasons) {
    const auto known = reasons.find(index);
    const auto lost = shards.lost.find(index);
    // The scheduler may call it complete, or know only half of it.
    if (!shard && lost != shards.lost.end())
        return fmt::format("shard {}/{}: {}{}", index, shards.count,
                           known == reasons.end() ? "" : known->second + "; ", lost->second);
    std::string why = shard ? "it did not end" : "it wrote no folder";
    if (shard && shard->end && !shard->end->not_run_reason.empty())
        why = shard->end->not_run_reason;
    else if (shard && shard->end)
        why = "interrupted";
    return fmt::format("shard {}/{}: {}", index, shards.count,
                       known == reasons.end() ? why : known->second);
}

// Replaces the reason of attempts that were cut short, and of their tests that did not run.
void replace_reason(archive::RunRecord& record, const std::string& before,
                    const std::string& after) {
    for (auto& [path, jobs] : record.attempts)
        for (store::JobResult& job : jobs) {
            if (job.ended && *job.ended == ProcessEnd::stopped(before))
                job.ended = ProcessEnd::stopped(after);
            for (auto& test : job.record.cases)
                if (test.reason == before) test.reason = after;
        }
}

// Reads the shards one after the other, records and passes on each module, and sums up.
class Merger {
  public:
    Merger(const ShardsOfRun& shards, const archive::ShardPlan* plan,
           const archive::ShardReasons& reasons, const fs::path& folder,
           const store::ModuleVisitor& see)
        : shards_(shards), plan_(plan), reasons_(reasons), folder_(folder), see_(see) {}

    Expected<void> add(std::size_t index) {
        const auto at = shards_.found.find(index);
        const FoundShard* const shard = at == shards_.found.end() ? nullptr : &at->second;
        if (!shard) return add_modules_not_run(index, nullptr, planned(index), {});
        const auto record = TRY(archive::read_record(shard->shard.folder));
        return shard->complete() ? add_complete(*shard, record)
                                 : add_incomplete(index, *shard, record);
    }

    // Tests as all added shards counted them, and the number of the run's modules.
    [[nodiscard]] const store::StateCounts& counted() const { return counted_; }
    [[nodiscard]] std::int64_t modules() const { return count_; }
    // For a run that can be resumed.
    [[nodiscard]] const std::vector<PlannedModule>& all() const { return all_; }

  private:
    [[nodiscard]] std::vector<PlannedModule> planned(std::size_t index) const {
        return plan_ ? plan_->shards[index - 1].modules : std::vector<PlannedModule>{};
    }

    Expected<void> add_module(store::StoredModule module) {
        ++count_;
        auto recorded = archive::record_plan(folder_, {module.path});
        for (const auto* jobs : {&module.attempts, &module.diagnostics})
            for (const store::JobResult& job : *jobs)
                recorded = recorded.and_then([&] { return archive::record_attempt(folder_, job); });
        return recorded.and_then([&] { return see_(std::move(module)); });
    }

    void count(const store::StoredModule& module) {
        if (module.attempts.empty()) return;
        for (const auto& test : analysis::verdicts_of_jobs(module.attempts).record.cases)
            ++counted_[static_cast<std::size_t>(test.state)];
    }

    Expected<void> add_complete(const FoundShard& shard, const archive::RunRecord& record) {
        // Counted by the shard itself, from its files as they were then.
        if (shard.states)
            for (std::size_t i = 0; i < counted_.size(); ++i) counted_[i] += (*shard.states)[i];
        for (const auto& path : record.modules) all_.push_back({path, {}});
        return archive::each_shard_module(record, shard.shard.folder, folder_,
                                          [&](store::StoredModule module) {
                                              if (!shard.states) count(module);
                                              return add_module(std::move(module));
                                          });
    }

    // As far as it came: also the attempts that its runner could not record.
    Expected<void> add_incomplete(std::size_t index, const FoundShard& shard,
                                  const archive::RunRecord& record) {
        auto modules = planned(index);
        if (modules.empty()) {
            auto plan = TRY(archive::read_plan({{}, {}, shard.shard.folder, {}}));
            modules = std::move(plan.modules);
        }
        const std::string why = words_of(index, shards_, &shard, reasons_);
        const auto framework = framework_of(record.info.framework);
        std::set<std::string> begun;
        const auto see = [&](store::StoredModule module) -> Expected<void> {
            const auto number =
                static_cast<int>(module.attempts.size() + module.diagnostics.size()) + 1;
            if (framework)
                if (auto left =
                        run::attempt_left(folder_, {*framework, archive::isolation_of(record.info)},
                                          module.path, number, ProcessEnd::stopped(why));
                    left && left->kind != AttemptKind::diagnostic) {
                    run::set_file_names(folder_, module.path, *left);
                    module.add(std::move(*left));
                }
            if (module.attempts.empty()) return {};
            begun.insert(module.path);
            count(module);
            return add_module(std::move(module));
        };
        archive::RunRecord whole = record;
        // The scheduler knows more than the runner that it ended by a signal.
        if (reasons_.contains(index) && shard.end && !shard.end->not_run_reason.empty())
            replace_reason(whole, shard.end->not_run_reason, why);
        for (const auto& module : modules)
            if (whole.attempts.try_emplace(module.path).second)
                whole.modules.push_back(module.path);
        const auto keep_others = [](const store::JobResult&) { return Expected<void>{}; };
        return archive::each_recorded_module(whole, folder_, keep_others, see).and_then([&] {
            return add_modules_not_run(index, &shard, modules, begun);
        });
    }

    Expected<void> add_modules_not_run(std::size_t index, const FoundShard* shard,
                                       const std::vector<PlannedModule>& modules,
                                       const std::set<std::string>& begun) {
        const std::string why = words_of(index, shards_, shard, reasons_);
        std::vector<std::string> paths;
        for (const auto& module : modules) {
            all_.push_back(module);
            if (begun.contains(module.path)) continue;
            paths.push_back(module.path);
            ++count_;
            TRY(see_({module.path, {}, why, {}}));
        }
        if (paths.empty()) return {};
        return archive::record_not_run(folder_, why, paths);
    }

    const ShardsOfRun& shards_;
    const archive::ShardPlan* plan_;
    const archive::ShardReasons& reasons_;
    const fs::path& folder_;
    const store::ModuleVisitor& see_;
    store::StateCounts counted_{};
    std::int64_t count_ = 0;
    std::vector<PlannedModule> all_;
};

store::RunEnd end_of(const ShardsOfRun& shards) {
    store::RunEnd end;
    std::vector<ExitCode> codes;
    for (const auto& [index, shard] : shards.found) {
        if (!shard.end) continue;
        const store::RunEnd& its = *shard.end;
        end.finished = std::max(end.finished, its.finished);
        end.duration_s = std::max(end.duration_s, its.duration_s);
        end.accounting_closed = end.accounting_closed && its.accounting_closed;
        end.mismatches.insert(end.mismatches.end(), its.mismatches.begin(), its.mismatches.end());
        add_writes(end.writes, its.writes);
        if (its.hub) add_use(end.hub ? *end.hub : end.hub.emplace(), *its.hub);
        if (end.not_run_reason.empty()) end.not_run_reason = its.not_run_reason;
        // Kept, not computed from the files: they do not hold --flaky-fails, names that no test
        // has, or trouble with the disk.
        const auto code = static_cast<ExitCode>(its.exit_code);
        codes.push_back(code == ExitCode::interrupted ? ExitCode::unexpected_results : code);
    }
    end.complete = shards.all_complete();
    if (!end.complete) codes.push_back(ExitCode::unexpected_results);
    end.exit_code = static_cast<int>(worst(codes));
    return end;
}

// Whether the database holds what the shards counted; else what differs is in `end`.
bool adds_up(const store::Store::Extent& stored, const Merger& merger, store::RunEnd& end) {
    const auto differs = [&](std::string_view what, std::int64_t shards, std::int64_t run) {
        if (shards == run) return;
        end.mismatches.push_back(
            {"", fmt::format("the shards counted {} {}, the merged run {}", shards, what, run)});
        end.accounting_closed = false;
    };
    const size_t before = end.mismatches.size();
    differs("modules", merger.modules(), stored.modules);
    for (std::size_t i = 0; i < stored.states.size(); ++i)
        differs(parsers::kStateNames[i], merger.counted()[i], stored.states[i]);
    return end.mismatches.size() == before;
}

// The plan that `resume` needs for an incomplete run.
Expected<void> write_plan_of(const archive::RunFolder& run, const ShardsOfRun& shards,
                             const archive::ShardPlan* plan, std::vector<PlannedModule> modules) {
    archive::RunPlan merged;
    if (plan) {
        merged = plan->asked;
    } else {
        merged = TRY(archive::read_plan({{}, {}, shards.found.begin()->second.shard.folder, {}}));
    }
    merged.modules = std::move(modules);
    return archive::write_plan(run, merged);
}

struct MergeInput {
    std::optional<archive::ShardPlan> plan;
    archive::ShardReasons reasons;
    ShardsOfRun shards;

    [[nodiscard]] const archive::ShardPlan* planned() const { return plan ? &*plan : nullptr; }
};

// The shards of `folders`, else those of the folder `results`.
Expected<MergeInput> read_input(const MergeRequest& request, const config::Invocation& invocation,
                                const fs::path& results) {
    MergeInput input;
    if (!request.plan.empty()) input.plan = TRY(archive::read_shard_plan(request.plan));
    if (!request.reasons.empty())
        input.reasons = TRY(archive::read_shard_reasons(request.reasons, *input.plan));
    std::vector<std::string> folders;
    for (const auto& name : request.folders) {
        const auto folder = TRY(unpacked(name, invocation));
        folders.push_back(folder.string());
    }
    std::error_code error;
    if (folders.empty() && fs::exists(results / "runs", error)) folders.push_back(results.string());
    return find_shards_of_run(folders, input.planned(), request.allow_missing)
        .map([&](ShardsOfRun&& shards) {
            input.shards = std::move(shards);
            return std::move(input);
        });
}

// A run with an id of its own, described as its shards are.
store::StoredRun merged_run(const MergeInput& input, const config::Invocation& invocation) {
    const auto& found = input.shards.found;
    store::RunInfo info = found.empty() ? input.plan->run : found.begin()->second.shard.info;
    for (const auto& [index, shard] : found)
        info.started = std::max(info.started, shard.shard.info.started);
    info.id = make_run_id(info.series, info.started, std::random_device{}());
    info.shard.clear();
    info.folder = "runs/" + info.id;
    info.argv = run::masked(invocation.argv);
    return {std::move(info), end_of(input.shards)};
}

// The run's folder with all files of its shards.
Expected<void> fill_folder(const archive::RunFolder& run, const store::RunInfo& info,
                           const ShardsOfRun& shards) {
    TRY(make_directories(run.folder));
    TRY(archive::record_run(run.folder, info));
    for (const auto& [index, shard] : shards.found) TRY(take_files(shard, run.folder));
    return {};
}

// Stores the run and its modules. Holds `output` once nothing can fail but the database. Where the
// database then counts otherwise than the shards did, `merged` has a mismatch.
Expected<void> store_run(store::Store& store, const archive::RunFolder& run,
                         const MergeInput& input, store::StoredRun& merged,
                         archive::TempOutput& output) {
    std::optional<Merger> merger;
    const auto read = [&](const store::ModuleVisitor& put) -> Expected<void> {
        merger.emplace(input.shards, input.planned(), input.reasons, run.folder, put);
        for (std::size_t i = 1; i <= input.shards.count; ++i) TRY(merger->add(i));
        return {};
    };
    const auto add = [&](const store::ModuleVisitor& see) -> Expected<void> {
        TRY(read_ahead(read, see));
        if (!merged.end->complete)
            TRY(write_plan_of(run, input.shards, input.planned(), merger->all()));
        output.hold();
        return archive::record_end(run.folder, *merged.end);
    };
    TRY(store.add_run(merged, add));
    output.keep(run.folder);
    const auto extent = TRY(store.extent_of(run.id));
    if (adds_up(extent, *merger, *merged.end)) return {};
    merged.end->exit_code = static_cast<int>(
        worst(std::array{static_cast<ExitCode>(merged.end->exit_code), ExitCode::unaccounted}));
    return archive::record_end(run.folder, *merged.end).and_then([&] {
        return store.finish_run(run.id, *merged.end);
    });
}

}  // namespace

Expected<run::RunResult> merge_into_run(const MergeRequest& request,
                                        const config::Invocation& invocation) {
    const auto settings = TRY(config::Settings::resolve(invocation, nullptr));
    archive::RunFolder run;
    run.results = fs::absolute(settings.text(Setting::results));
    auto input = read_input(request, invocation, run.results);
    if (!input) return tl::unexpected(input.error());
    for (const auto& note : input->shards.notes) display::print("note: {}\n", printable(note));
    auto store = archive::open_results(run.results);
    if (!store) return tl::unexpected(store.error());

    store::StoredRun merged = merged_run(*input, invocation);
    run.id = merged.info.id;
    run.folder = run.results / merged.info.folder;
    run.started = merged.info.started;
    archive::TempOutput output(run.folder, run::report_interruption(run.id));
    // Files are copied before the database is locked.
    TRY(fill_folder(run, merged.info, input->shards).and_then([&] {
        return store_run(*store, run, *input, merged, output);
    }));
    input = MergeInput{};  // reports need memory of their own
    run::ExtraReports extra = request.reports;
    extra.link = run::link_of(settings);
    return run::report_run(*store, run, extra).map([&] {
        const auto code = static_cast<ExitCode>(merged.end->exit_code);
        return run::RunResult{code, run.id, std::move(*store)};
    });
}

Expected<ExitCode> merge_shards(const MergeRequest& request, const config::Invocation& invocation) {
    return merge_into_run(request, invocation).map([](const run::RunResult& run) {
        return run.code;
    });
}

}  // namespace compat::cluster
