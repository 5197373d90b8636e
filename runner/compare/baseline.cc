#include "runner/compare/baseline.h"

#include <fmt/format.h>

#include "runner/archive/shards.h"
#include "runner/base/device_kind.h"
#include "runner/store/comparable.h"
#include "runner/store/compared_runs.h"

namespace compat::compare {

namespace {

constexpr int kBaselinesSearched = 1000;

struct ChosenRuns {
    StoredSide baseline;
    std::string chosen;  // as CompareView::chosen
    std::vector<StoredSide> runs;
};

Expected<StoredSide> named_run(const RunDatabase& in, const std::string& name) {
    return archive::find_run(in.store, in.results, name).map([&](const std::string& id) {
        return StoredSide{&in.store, id};
    });
}

constexpr std::string_view kChosenByPast = "the latest complete run before it that is comparable";

// The latest comparable run before `run`. Empty: there is none.
Expected<std::optional<StoredSide>> run_before(const store::Store& baselines,
                                               const StoredSide& run) {
    const auto stored = run.store->load_run(run.id);
    if (!stored) return tl::unexpected(stored.error());
    const store::RunInfo& info = stored->info;
    const auto past = comparable_runs(baselines, info, kBaselinesSearched);
    if (!past) return tl::unexpected(past.error());
    if (past->empty()) return std::nullopt;
    return StoredSide{&baselines, baseline_among(*past, info)->id};
}

Expected<StoredSide> existing_run_before(const RunDatabase& baselines, const StoredSide& run) {
    auto before = run_before(baselines.store, run);
    if (!before) return tl::unexpected(before.error());
    if (*before) return std::move(**before);
    return fail(ErrorKind::usage,
                fmt::format("nothing to compare {} with: no complete run before it has the "
                            "same series, suite, framework, device, settings, isolation "
                            "and shard and ran all of its tests",
                            run.id),
                "name the baseline: `runner compare BASELINE RUN`; `runner runs` lists runs");
}

Expected<ChosenRuns> run_and_baseline(const RunDatabase& runs, const RunDatabase& baselines,
                                      const std::vector<std::string>& names) {
    if (names.size() > 2)
        return fail(ErrorKind::usage, "more than two runs are named",
                    "name BASELINE and RUN; `--by device` compares several");
    auto run = named_run(runs, names.empty() ? "latest" : names.back());
    if (!run) return tl::unexpected(run.error());
    const bool is_named = names.size() == 2;
    auto baseline =
        is_named ? named_run(baselines, names.front()) : existing_run_before(baselines, *run);
    if (!baseline) return tl::unexpected(baseline.error());
    return ChosenRuns{*baseline, is_named ? "" : std::string(kChosenByPast), {*run}};
}

// Plain CPU comes first where it is among them.
Expected<std::vector<StoredSide>> newest_by_device(const store::Store& store,
                                                   const store::RunInfo& like) {
    std::vector<StoredSide> plain, others;
    for (const std::string& id : TRY(store::newest_by_device(store, like))) {
        const store::RunInfo info = TRY(store.load_run(id)).info;
        const bool is_plain_cpu = !is_accelerator(info.device) && !info.simulated && !info.shim;
        (is_plain_cpu ? plain : others).push_back({&store, id});
    }
    plain.insert(plain.end(), others.begin(), others.end());
    return plain;
}

Expected<std::vector<StoredSide>> jobs_beside(const store::Store& store,
                                              const store::RunInfo& like) {
    std::vector<StoredSide> sides;
    for (const std::string& id : TRY(store::jobs_of_import(store, like.suite)))
        sides.push_back({&store, id});
    return sides;
}

// The named runs, else the newest of each device, or the jobs of the newest import. One name alone
// says of which suite.
Expected<ChosenRuns> runs_side_by_side(const RunDatabase& runs, const CompareRequest& request) {
    const bool by_job = request.chosen == Chosen::by_job;
    const bool by_itself = request.runs.size() < (by_job ? 2 : 1);
    std::vector<StoredSide> sides;
    for (const std::string& name : request.runs) sides.push_back(TRY(named_run(runs, name)));
    if (by_itself) {
        const StoredSide like = sides.empty() ? TRY(named_run(runs, "latest")) : sides.front();
        const store::RunInfo info = TRY(runs.store.load_run(like.id)).info;
        sides = TRY((by_job ? jobs_beside : newest_by_device)(runs.store, info));
    }
    if (sides.size() < 2 && by_job)
        return fail(ErrorKind::usage, "no import of that suite has two jobs to compare",
                    "`runner import` stores a run for each job: --job NAME=PATH, or a folder each");
    if (sides.size() < 2)
        return fail(
            ErrorKind::usage,
            fmt::format("there is {} of the latest run's part of the suite and isolation "
                        "to compare by device",
                        sides.empty() ? "no complete run" : "one run alone"),
            "name the runs, or run the suite on another device, such as with --simulate mps");
    ChosenRuns chosen{sides.front(),
                      !by_itself ? ""
                      : by_job   ? "the jobs of the newest import"
                                 : "the newest run of each device",
                      {}};
    chosen.runs.assign(sides.begin() + 1, sides.end());
    return chosen;
}

Expected<reports::CompareView> read_chosen(const ChosenRuns& chosen,
                                           const std::vector<reports::ChangeClass>& fail_on) {
    auto baseline = describe_run(chosen.baseline);
    if (!baseline) return tl::unexpected(baseline.error());
    reports::CompareView view{std::move(*baseline), chosen.chosen, {}, fail_on};
    for (const StoredSide& run : chosen.runs) {
        auto column = compare_runs(chosen.baseline, run);
        if (!column) return tl::unexpected(column.error());
        view.columns.push_back(std::move(*column));
    }
    return view;
}

}  // namespace

Expected<reports::CompareView> compare(const RunDatabase& runs, const RunDatabase& baselines,
                                       const CompareRequest& request) {
    const auto chosen = request.chosen == Chosen::by_past
                            ? run_and_baseline(runs, baselines, request.runs)
                            : runs_side_by_side(runs, request);
    if (!chosen) return tl::unexpected(chosen.error());
    reports::CompareView view;
    const auto read = [&] {
        return read_chosen(*chosen, request.fail_on).map([&](reports::CompareView&& found) {
            view = std::move(found);
        });
    };
    return runs.store.snapshot(read).map([&] { return std::move(view); });
}

Expected<std::optional<reports::CompareView>> compare_with_past(const StoredSide& run) {
    auto baseline = run_before(*run.store, run);
    if (!baseline) return tl::unexpected(baseline.error());
    if (!*baseline) return std::nullopt;
    return read_chosen({std::move(**baseline), std::string(kChosenByPast), {run}}, {})
        .map([](reports::CompareView&& view) { return std::optional(std::move(view)); });
}

}  // namespace compat::compare
