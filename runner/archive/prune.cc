#include "runner/archive/prune.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "runner/archive/run_folder.h"
#include "runner/base/files.h"
#include "runner/base/isolation/file_tree.h"
#include "runner/base/text.h"
#include "runner/store/comparable.h"

namespace compat::archive {

using store::RunSummary;

namespace {

constexpr std::uint64_t kMaxPageBytes = 64ull << 20;  // of a comparison of devices

// Folders that are being deleted: not below runs/, where other commands would find them.
fs::path deleted_in(const fs::path& results) { return results / ".deleted"; }

bool is_complete(const RunSummary& run) { return run.end && run.end->complete; }

// "X", or "X and 2 other runs".
std::string format_runs(const std::vector<std::string>& ids) {
    if (ids.size() == 1) return ids.front();
    return fmt::format("{} and {}", ids.front(),
                       counted(static_cast<long>(ids.size() - 1), "other run"));
}

// Uses of deleted runs by runs that stay, by the deleted runs' ids.
class Uses {
  public:
    Uses(const store::Store& store, const fs::path& results) : store_(store), results_(results) {}

    [[nodiscard]] Expected<void> read(const std::vector<RunSummary>& runs,
                                      const std::set<std::string>& going) {
        for (const RunSummary& run : runs) {
            if (going.contains(run.id)) continue;
            if (going.contains(run.repeat_of)) repeated_[run.repeat_of].push_back(run.id);
            const auto others = TRY(store_.other_ways_of(run.id));
            for (const auto& other : others)
                if (going.contains(other.id)) attributed_[other.id].push_back(run.id);
        }
        std::error_code error;
        for (const auto& page : fs::directory_iterator(results_ / "porting", error)) {
            const auto text = read_file(page.path() / "porting.json", kMaxPageBytes);
            for (const std::string& id : going)
                if (text && text->find('"' + id + '"') != std::string::npos)
                    compared_[id].push_back(page.path().filename().string());
        }
        return {};
    }

    [[nodiscard]] std::vector<std::string> notes(const RunSummary& run) const {
        std::vector<std::string> notes;
        if (!is_complete(run)) notes.emplace_back("it is not complete and can be resumed");
        const auto add = [&](const auto& uses, std::string_view format) {
            if (const auto use = uses.find(run.id); use != uses.end())
                notes.push_back(fmt::format(fmt::runtime(format), format_runs(use->second)));
        };
        add(repeated_, "{} repeats it (--repeat)");
        add(attributed_, "{} uses it to attribute failures");
        add(compared_, "the pages of `porting` in {} link to it");
        return notes;
    }

  private:
    const store::Store& store_;
    const fs::path& results_;
    std::map<std::string, std::vector<std::string>> repeated_, attributed_, compared_;
};

}  // namespace

Expected<PrunePlan> plan_prune(const store::Store& store, const fs::path& results,
                               const PruneRule& rule) {
    const auto runs = TRY(store.runs());
    // Runs of some tests are counted apart: none takes the place of a run of all.
    using Kind = std::pair<store::ComparableKey, std::optional<Subset>>;
    std::map<Kind, std::int64_t> seen;
    std::map<Kind, bool> has_complete;
    PrunePlan plan;
    std::set<std::string> going;
    for (const RunSummary& run : runs) {  // newest first
        Kind kind{store::comparable_key(run), std::nullopt};
        if (!chooses_tests(run.subset)) kind.second = run.subset;
        const std::int64_t newer = seen[kind]++;
        const bool is_last_complete = is_complete(run) && !std::exchange(has_complete[kind], true);
        if (!rule.series.empty() && run.series != rule.series) continue;
        if (rule.keep ? newer < *rule.keep : !rule.before || run.started >= *rule.before) continue;
        const fs::path folder = results / run.folder;
        if (RunLock::is_held(folder)) {
            plan.kept.push_back({run.id, "a runner is using it"});
        } else if (is_last_complete) {
            plan.kept.push_back(
                {run.id, "the last complete run of its series, device and settings"});
        } else {
            going.insert(run.id);
            plan.runs.push_back({run, folder_bytes(folder), {}});
        }
    }
    std::reverse(plan.runs.begin(), plan.runs.end());
    std::reverse(plan.kept.begin(), plan.kept.end());
    if (going.empty()) return plan;
    Uses uses(store, results);
    TRY(uses.read(runs, going));
    for (RunToDelete& run : plan.runs) run.notes = uses.notes(run.run);
    return plan;
}

Expected<void> delete_run(store::Store& store, const fs::path& results, const RunSummary& run) {
    const fs::path folder = results / run.folder;
    if (fs::path(run.folder).lexically_normal() != fs::path("runs") / run.id)
        return fail(ErrorKind::usage,
                    fmt::format("the database names another folder for {} than its own", run.id),
                    "`runner reparse --all` rebuilds the database", folder.string());
    std::error_code error;
    std::optional<RunLock> lock;
    if (fs::exists(folder, error)) {
        auto held = TRY(RunLock::acquire(folder));
        lock.emplace(std::move(held));
    }
    TRY(make_directories(deleted_in(results)));
    TRY(store.delete_run(run.id));
    if (!lock) return {};
    const fs::path moved = deleted_in(results) / run.id;
    fs::rename(folder, moved, error);
    error = remove_tree(error ? folder : moved);
    if (error)
        return fail(ErrorKind::io, "cannot remove the run's folder: " + error.message(),
                    "remove it yourself: its rows are deleted", folder.string());
    return {};
}

Expected<void> tidy_results(const store::Store& store, const fs::path& results) {
    std::error_code error;
    error = remove_tree(deleted_in(results));
    if (error)
        return fail(ErrorKind::io, "cannot remove deleted runs: " + error.message(), {},
                    deleted_in(results).string());
    const fs::path link = results / "latest";
    if (!fs::is_symlink(fs::symlink_status(link, error)) || fs::exists(link, error)) return {};
    if (const auto latest = store.find_run("latest")) {
        point_latest({*latest, results, results / "runs" / *latest, {}});
        return {};
    } else if (latest.error().kind != ErrorKind::usage) {
        return tl::unexpected(latest.error());
    }
    fs::remove(link, error);
    return {};
}

}  // namespace compat::archive
