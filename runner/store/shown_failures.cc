#include "runner/store/shown_failures.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runner/store/compared_runs.h"
#include "runner/store/queries.h"
#include "runner/store/query.h"
#include "runner/store/store_impl.h"

namespace compat::store {

namespace {

constexpr int kRuns = 10;

// A failure in an attempt; without a signature: a broken test that has none.
struct Broken {
    std::int64_t test = 0;
    std::string name, module;
    parsers::State state = parsers::State::failed;
    bool forked = false, pseudo = false;
    int number = 0;  // of its attempt
    std::string signature;
};

std::vector<Broken> broken_in(Database& database, std::int64_t run) {
    Query<Broken> query(database.prepare(R"sql(
            SELECT result.test, test.case_id AS name, module.path AS module, result.state,
                attempt.forked, result.pseudo, attempt.number,
                coalesce(failure.signature, '') AS signature
            FROM result
            CROSS JOIN attempt ON attempt.id = result.attempt AND attempt.kind <> 'diagnostic'
            CROSS JOIN module ON module.id = attempt.module
            CROSS JOIN test ON test.id = result.test
            LEFT JOIN failure ON failure.result = result.id
            WHERE result.run = ?1 AND result.verdict IN (0, 1)
                AND result.state IN ('failed', 'errored', 'crashed', 'timed_out'))sql"),
                        [](Broken& row, auto column) {
                            COLUMNS(row, test, name, module, state, forked, pseudo, number,
                                    signature);
                        });
    return query.all(run);
}

// For each of the tests that are broken in one of the runs, how many of the newest runs had no
// process in which it passed.
std::map<std::int64_t, std::size_t> runs_since_passing(
    Database& database, const std::vector<SeriesRun>& runs,
    const std::vector<std::vector<Broken>>& broken) {
    std::map<std::int64_t, std::size_t> since;
    for (const auto& of_run : broken)
        for (const Broken& row : of_run) since.emplace(row.test, 0);
    Query<int> passed(database.prepare("SELECT 1 AS one FROM result WHERE run = ?1 AND test = ?2 "
                                       "AND state = 'passed' LIMIT 1"),
                      [](int& row, auto column) { column("one", row); });
    for (auto& [test, count] : since)
        while (count < runs.size() && !passed.first(runs[count].row, test)) ++count;
    return since;
}

}  // namespace

Expected<ShownFailures> shown_failures(const Store& store, const RunInfo& run) {
    const auto runs = TRY(series_before(store, run, kRuns));
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<ShownFailures> {
        std::vector<std::vector<Broken>> broken;
        for (const SeriesRun& each : runs) broken.push_back(broken_in(database, each.row));
        const auto since = runs_since_passing(database, runs, broken);
        ShownFailures shown;
        for (std::size_t i = 0; i < runs.size(); ++i)
            for (const Broken& row : broken[i])
                if (!row.forked && !row.pseudo && !row.signature.empty() && i < since.at(row.test))
                    shown.signatures[row.name].insert(row.signature);
        const auto is_shown = [&](const Broken& row) {
            const auto known = shown.signatures.find(row.name);
            return !row.pseudo && known != shown.signatures.end() &&
                   (row.state == parsers::State::failed || row.state == parsers::State::errored) &&
                   known->second.contains(row.signature);
        };
        std::set<std::string> forked;  // in a run that was looked at
        for (const auto& of_run : broken) {
            std::map<std::string, bool> all_shown;
            for (const Broken& row : of_run)
                if (row.forked && row.number == 1 && !forked.contains(row.module)) {
                    bool& all = all_shown.emplace(row.module, true).first->second;
                    all = all && is_shown(row);
                }
            for (const auto& [module, all] : all_shown) {
                forked.insert(module);
                if (all) shown.modules.insert(module);
            }
        }
        return shown;
    });
}

}  // namespace compat::store
