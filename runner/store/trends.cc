#include "runner/store/trends.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runner/store/edge.h"
#include "runner/store/queries.h"
#include "runner/store/reader.h"
#include "runner/store/store_impl.h"

namespace compat::store {

Expected<void> each_module_result(const Store& store, std::span<const std::string> runs,
                                  std::string_view module,
                                  const std::function<void(const ModuleResult&)>& see) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<void> {
        Statement row = database.prepare(R"sql(
            SELECT result.test, result.id, result.state, result.duration_s
            FROM run
            CROSS JOIN module ON module.run = run.id AND module.path = ?2
            CROSS JOIN attempt ON attempt.module = module.id
            CROSS JOIN result ON result.attempt = attempt.id AND result.verdict = 1
            WHERE run.name = ?1)sql");
        for (std::size_t i = 0; i < runs.size(); ++i) {
            row.bind_all(runs[i], module);
            while (row.step())
                see({static_cast<std::uint32_t>(i), row.integer(0), row.integer(1),
                     state_column(row, 2), static_cast<float>(row.real(3))});
            row.reset();
        }
        return {};
    });
}

Expected<std::vector<ModuleCounts>> module_counts(const Store& store, std::string_view run) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<ModuleCounts>> {
        const auto id = run_row(database, run);
        if (!id) return tl::unexpected(id.error());
        Statement row = database.prepare(fmt::format(R"sql(
            SELECT path, {}, exercised_good, exercised_broken, coalesce((
                SELECT sum(duration_s)
                FROM attempt
                WHERE attempt.module = module.id AND kind <> 'diagnostic'), 0)
            FROM module
            WHERE run = ?
            ORDER BY path)sql",
                                                     fmt::join(parsers::kStateNames, ", ")));
        row.bind(1, *id);
        std::vector<ModuleCounts> modules;
        while (row.step()) {
            ModuleCounts& module = modules.emplace_back();
            module.path = row.text(0);
            int column = 1;
            for (std::int64_t& count : module.states) count = row.integer(column++);
            module.exercised_good = row.integer(column);
            module.exercised_broken = row.integer(column + 1);
            module.seconds = row.real(column + 2);
        }
        return modules;
    });
}

Expected<std::vector<TestResult>> results_of_test(const Store& store, std::string_view test) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<TestResult>> {
        Statement row = database.prepare(R"sql(
            SELECT run.name, result.id, result.state, result.flaky
            FROM test
            CROSS JOIN run ON run.suite = test.suite
            CROSS JOIN result ON result.run = run.id AND result.test = test.id
                AND result.verdict = 1
            WHERE test.case_id = ?1
            ORDER BY run.started_ms, run.id)sql");
        row.bind(1, test);
        std::vector<TestResult> results;
        while (row.step())
            results.push_back({row.text(0), row.integer(1), state_column(row, 2), row.flag(3)});
        return results;
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
            ids.push_back(row.step() ? row.text(0) : std::string{});
            row.reset();
        }
        return ids;
    });
}

}  // namespace compat::store
