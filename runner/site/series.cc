#include "runner/site/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "runner/base/device_kind.h"
#include "runner/display/device_lines.h"
#include "runner/store/comparable.h"

namespace compat::site {

namespace {

// A part of the suite has a series of its own; a column of a matrix is one whatever it runs.
using Key = std::pair<store::ComparableKey, Subset>;
Key key_of(const store::RunSummary& run) {
    return {store::comparable_key(run), run.column.empty() ? run.subset : Subset()};
}

std::string column_of(const store::RunSummary& run) {
    if (!run.column.empty()) return run.column;
    std::string words = run.simulated ? *run.simulated + " (simulated)" : run.device;
    const bool has_accelerator = is_accelerator(run.device);
    if (!run.shim && has_accelerator) words += ", shim off";
    if (run.shim && !run.simulated && !has_accelerator) words += ", redirected";
    if (run.masquerade) words += ", masquerade";
    if (run.shim && !run.fallback) words += ", fallback off";
    return words;
}

// By the hash of the source where it is known. Else runs of a checkout with changes of its own
// differ from all others.
bool same_source(const store::RunSummary& a, const store::RunSummary& b) {
    if (!a.source_hash.empty() || !b.source_hash.empty()) return a.source_hash == b.source_hash;
    return !a.dirty && !b.dirty && a.commit == b.commit;
}

std::vector<std::uint32_t> versions_of(const std::vector<store::RunSummary>& runs) {
    std::vector<std::uint32_t> versions;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const bool same =
            i > 0 && same_source(runs[i], runs[i - 1]) && runs[i].torch == runs[i - 1].torch;
        versions.push_back(i == 0 ? 0 : versions.back() + (same ? 0 : 1));
    }
    return versions;
}

// A whole run keeps its name, and with it the address of its badge, whatever parts were run.
void name_parts_apart(std::vector<Series>& all) {
    for (Series& part : all) {
        const Subset subset = key_of(part.newest()).second;
        const bool beside_whole_runs = std::ranges::any_of(all, [&](const Series& series) {
            return series.newest().subset.empty() && series.suite == part.suite &&
                   series.column == part.column;
        });
        if (!subset.empty() && beside_whole_runs) part.column += ", " + describe_subset(subset);
    }
}

void name_series_apart(std::vector<Series>& all) {
    name_parts_apart(all);
    const auto cell = [](const Series& series) {
        return std::tie(series.suite, series.torch, series.column);
    };
    std::map<std::tuple<std::string, std::string, std::string>, int> cells;
    for (const Series& series : all) ++cells[cell(series)];
    std::vector<Series*> alike;
    for (Series& series : all)
        if (cells[cell(series)] > 1) alike.push_back(&series);
    for (Series* series : alike)
        series->column += fmt::format(", series {}", series->newest().series);
    // They may also differ in what no name shows, such as the policy.
    cells.clear();
    for (const Series& series : all) ++cells[cell(series)];
    alike.clear();
    for (Series& series : all)
        if (cells[cell(series)] > 1) alike.push_back(&series);
    for (Series* series : alike) series->column += fmt::format(", {}", series->way);
}

}  // namespace

std::vector<std::string> Series::run_ids() const {
    std::vector<std::string> ids;
    ids.reserve(runs.size());
    for (const store::RunSummary& run : runs) ids.push_back(run.id);
    return ids;
}

std::vector<Series> series_of(std::vector<store::RunSummary> runs) {
    std::map<Key, Series> by_key;
    std::map<Key, std::string> unfinished;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {  // oldest first
        if (!run->shard.empty() || !run->gives_verdicts()) continue;
        const Key key = key_of(*run);
        if (!run->end || !run->end->complete) {
            unfinished[key] = run->id;
            continue;
        }
        unfinished.erase(key);
        by_key[key].runs.push_back(std::move(*run));
    }
    // Somebody looked at some tests.
    std::erase_if(by_key, [&](const auto& entry) {
        const auto& [key, series] = entry;
        return !key.second.empty() && series.runs.size() == 1 &&
               by_key.contains({key.first, Subset()});
    });
    std::vector<Series> all;
    for (auto& [key, series] : by_key) {
        const store::RunSummary& newest = series.newest();
        series.suite = newest.suite;
        series.column = column_of(newest);
        series.way = display::describe_way(newest);
        series.torch = newest.torch;
        series.versions = versions_of(series.runs);
        if (const auto open = unfinished.find(key); open != unfinished.end())
            series.unfinished = open->second;
        all.push_back(std::move(series));
    }
    name_series_apart(all);
    std::sort(all.begin(), all.end(), [](const Series& a, const Series& b) {
        return std::tie(a.suite, a.column, a.torch, a.newest().series) <
               std::tie(b.suite, b.column, b.torch, b.newest().series);
    });
    return all;
}

Expected<ChangedBetween> changed_between(const store::Store& store, const std::string& baseline,
                                         const std::string& run) {
    const auto before = TRY(store.load_run(baseline));
    const auto after = TRY(store.load_run(run));
    const std::string &a = before.info.fingerprint, &b = after.info.fingerprint;
    return ChangedBetween{analysis::has_fingerprint(a) && analysis::has_fingerprint(b),
                          analysis::environment_changes(a, b)};
}

TestInSeries test_in_series(const Series& series, const std::vector<store::TestResult>& results) {
    std::unordered_map<std::string_view, const store::TestResult*> by_run;
    for (const store::TestResult& result : results) by_run.emplace(result.run, &result);
    TestInSeries test;
    for (std::size_t i = 0; i < series.runs.size(); ++i) {
        const auto at = by_run.find(series.runs[i].id);
        if (at == by_run.end()) continue;
        test.entries.push_back(
            {static_cast<std::uint32_t>(i), at->second->state, at->second->flaky});
        test.results.push_back(at->second->result);
    }
    return test;
}

Expected<std::optional<Series>> series_until(const store::Store& store, const std::string& run) {
    auto runs = TRY(store.runs());
    const auto own =
        std::find_if(runs.begin(), runs.end(), [&](const auto& each) { return each.id == run; });
    if (own == runs.end()) return fail(ErrorKind::usage, fmt::format("no run '{}'", run));
    const Key key = key_of(*own);
    runs.erase(runs.begin(), own);  // newer ones
    std::erase_if(runs, [&](const auto& each) { return key_of(each) != key; });
    std::vector<Series> series = series_of(std::move(runs));
    if (series.empty() || series.front().newest().id != run) return std::nullopt;
    return std::move(series.front());
}

Expected<std::vector<std::string>> quarantined(const store::Store& store, const Series& series,
                                               std::span<const std::string> failed) {
    std::vector<std::string> flaky;
    for (const std::string& id : failed) {
        const auto results = TRY(store::results_of_test(store, id));
        const TestInSeries test = test_in_series(series, results);
        if (!test.entries.empty() &&
            analysis::is_quarantined(analysis::ledger_of(test.entries, series.versions)))
            flaky.push_back(id);
    }
    std::sort(flaky.begin(), flaky.end());
    return flaky;
}

std::string note_of_later_run(const store::Store& store, const std::string& series,
                              WallTime started) {
    const auto later = store.later_run(series, started);
    if (!later || !*later) return {};
    return fmt::format(
        "was a clock wrong? {} is dated {}, later than this run. Runs are sorted by time: this one "
        "is compared with older ones, and `latest` means that one",
        (*later)->id, iso8601((*later)->started));
}

}  // namespace compat::site
