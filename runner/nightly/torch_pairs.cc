#include "runner/nightly/torch_pairs.h"

#include <algorithm>
#include <tuple>

#include "runner/archive/results.h"
#include "runner/base/version.h"
#include "runner/compare/compare_runs.h"
#include "runner/site/blame.h"

namespace compat::nightly {

namespace {

using analysis::ChangeClass;

// The meaning of a class of `compare` for the newer torch; empty: none.
std::optional<TorchChange> torch_change(ChangeClass change) {
    switch (change) {
        case ChangeClass::regressed:
        case ChangeClass::new_failing:
            return TorchChange::regressed;
        case ChangeClass::still_failing_changed:
            return TorchChange::changed;
        case ChangeClass::fixed:
            return TorchChange::fixed;
        default:
            return std::nullopt;
    }
}

// A run of the pair, with the series that says which of its tests are flaky.
struct PairSide {
    compare::StoredSide run;
    std::optional<site::Series> series;
};
Expected<PairSide> side_of(const store::Store& store, const CellResult& cell) {
    return site::series_until(store, cell.run).map([&](std::optional<site::Series> series) {
        return PairSide{{&store, cell.run}, std::move(series)};
    });
}

// Leaves out the tests that are flaky on this side.
Expected<void> erase_flaky(const PairSide& side, std::vector<TorchDifference>& tests) {
    if (!side.series) return {};
    std::vector<std::string> ids;
    for (const TorchDifference& test : tests) ids.push_back(test.id);
    const auto flaky = TRY(site::quarantined(*side.run.store, *side.series, ids));
    std::erase_if(tests,
                  [&](const auto& test) { return std::ranges::binary_search(flaky, test.id); });
    return {};
}

Expected<void> add_older_error(const PairSide& older, TorchDifference& test) {
    if (!older.series) return {};
    const auto blame = TRY(site::blame_in(*older.run.store, *older.series, test.id));
    if (blame && blame->error_run == older.run.id) test.older_error = blame->error;
    return {};
}

Expected<TorchPair> compare_cells(const store::Store& store, const CellResult& before,
                                  const CellResult& after) {
    TorchPair pair{after.cell.name,
                   after.cell.column,
                   {before.stored->torch, before.run},
                   {after.stored->torch, after.run}};
    const PairSide older = TRY(side_of(store, before)), newer = TRY(side_of(store, after));
    const auto compared = TRY(compare::compare_runs(older.run, newer.run));
    for (const reports::ChangedTest& test : compared.tests) {
        const auto change = torch_change(test.change);
        if (!change) continue;
        TorchDifference& found = pair.tests.emplace_back();
        found = {test.id, *change, test.baseline, test.run, {}, {}};
        (*change == TorchChange::fixed ? found.older_error : found.newer_error) = test.why;
    }
    for (const PairSide* side : {&older, &newer}) TRY(erase_flaky(*side, pair.tests));
    for (const TorchDifference& test : pair.tests)
        ++pair.counts[static_cast<std::size_t>(test.change)];
    std::ranges::sort(pair.tests, {},
                      [](const TorchDifference& test) { return std::tie(test.change, test.id); });
    if (pair.tests.size() > kBlamedTests) pair.tests.resize(kBlamedTests);
    for (TorchDifference& test : pair.tests)
        if (test.change == TorchChange::changed) TRY(add_older_error(older, test));
    return pair;
}

// The cells of each suite and column that have a run, the oldest torch first; groups with one are
// left out.
std::vector<std::vector<const CellResult*>> cells_by_torch(const std::vector<CellResult>& cells) {
    std::vector<std::vector<const CellResult*>> groups;
    for (const CellResult& cell : cells) {
        if (cell.cell.torch.empty() || !cell.stored) continue;
        const auto group = std::ranges::find_if(groups, [&](const auto& other) {
            return other.front()->cell.name == cell.cell.name &&
                   other.front()->cell.column == cell.cell.column;
        });
        (group == groups.end() ? groups.emplace_back() : *group).push_back(&cell);
    }
    std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
    for (auto& group : groups)
        std::ranges::stable_sort(group, [](const CellResult* a, const CellResult* b) {
            return is_older(a->stored->torch, b->stored->torch);
        });
    return groups;
}

}  // namespace

Expected<std::vector<TorchPair>> torch_pairs(const fs::path& results,
                                             const std::vector<CellResult>& cells) {
    const auto groups = cells_by_torch(cells);
    std::vector<TorchPair> pairs;
    if (groups.empty()) return pairs;
    const auto store = TRY(archive::open_results(results));
    const auto read = [&]() -> Expected<void> {
        for (const auto& group : groups)
            for (std::size_t i = 1; i < group.size(); ++i)
                pairs.push_back(TRY(compare_cells(store, *group[i - 1], *group[i])));
        return {};
    };
    return store.snapshot(read).map([&] { return std::move(pairs); });
}

}  // namespace compat::nightly
