#include "runner/store/trends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runner/store/edge.h"
#include "runner/store/queries.h"
#include "runner/store/query.h"
#include "runner/store/store_impl.h"

namespace compat::store {

Expected<void> each_module_result(const Store& store, std::span<const std::string> runs,
                                  std::string_view module,
                                  const std::function<void(const ModuleResult&)>& see) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<void> {
        Query<ModuleResult> results(database.prepare(R"sql(
            SELECT result.test, result.id, result.state, result.duration_s
            FROM run
            CROSS JOIN module ON module.run = run.id AND module.path = ?2
            CROSS JOIN attempt ON attempt.module = module.id
            CROSS JOIN result ON result.attempt = attempt.id AND result.verdict = 1
            WHERE run.name = ?1)sql"),
                                    [](ModuleResult& row, auto column) {
                                        COLUMNS(row, test, state, duration_s);
                                        column("id", row.result);
                                    });
        for (std::uint32_t run = 0; run < runs.size(); ++run)
            results.bind(runs[run], module).each([&](ModuleResult result) {
                result.run = run;
                see(result);
            });
        return {};
    });
}

Expected<std::vector<ModuleCounts>> module_counts(const Store& store, std::string_view run) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<ModuleCounts>> {
        const auto id = TRY(run_row(database, run));
        Query<ModuleCounts> modules(
            database.prepare(fmt::format(R"sql(
            SELECT path, {}, exercised_good, exercised_broken, coalesce((
                SELECT sum(duration_s)
                FROM attempt
                WHERE attempt.module = module.id AND kind <> 'diagnostic'), 0) AS seconds,
                coalesce((
                SELECT sum(tests - 1)
                FROM attempt
                JOIN result ON result.run = module.run AND result.attempt = attempt.id
                    AND result.tests <> 1 AND result.verdict = 1
                WHERE attempt.module = module.id), 0) AS rowless
            FROM module
            WHERE run = ?
            ORDER BY path)sql",
                                         fmt::join(parsers::kStateNames, ", "))),
            [](ModuleCounts& row, auto column) {
                column("path", row.path);
                describe_states(row.states, column);
                COLUMNS(row, exercised_good, exercised_broken, seconds, rowless);
            });
        return modules.all(id);
    });
}

Expected<std::vector<TestResult>> results_of_test(const Store& store, std::string_view test) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<TestResult>> {
        Query<TestResult> results(database.prepare(R"sql(
            SELECT run.name AS run, result.id, result.state, result.flaky
            FROM test
            CROSS JOIN run ON run.suite = test.suite
            CROSS JOIN result ON result.run = run.id AND result.test = test.id
                AND result.verdict = 1
            WHERE test.case_id = ?1
            ORDER BY run.started_ms, run.id)sql"),
                                  [](TestResult& row, auto column) {
                                      COLUMNS(row, run, state, flaky);
                                      column("id", row.result);
                                  });
        return results.all(test);
    });
}

Expected<std::vector<std::string>> tests_of_results(const Store& store,
                                                    std::span<const std::int64_t> results) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<std::string>> {
        Statement row = database.prepare(
            "SELECT case_id FROM result JOIN test ON test.id = result.test WHERE result.id = ?");
        std::vector<std::string> ids;
        ids.reserve(results.size());
        for (const std::int64_t result : results) {
            row.bind(1, result);
            ids.push_back(row.step() ? row.text() : std::string{});
            row.reset();
        }
        return ids;
    });
}

}  // namespace compat::store
