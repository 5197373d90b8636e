#include "runner/store/compared_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "runner/analysis/attempts.h"
#include "runner/store/comparable.h"
#include "runner/store/edge.h"
#include "runner/store/json_column.h"
#include "runner/store/queries.h"
#include "runner/store/query.h"
#include "runner/store/store_impl.h"

namespace compat::store {

namespace {

// A failure of a verdict. The test's own comes before that of a sub-test, the first before further
// ones.
struct VerdictFailure {
    FailureRow failure;
    bool of_subtest = false, also = false;
    std::int64_t id = 0;

    [[nodiscard]] auto precedence() const { return std::tuple(of_subtest, also, id); }
};

// Runs before `run` that are comparable with it and also fulfil `condition`, newest first, with
// `columns`.
Statement newest_before(Database& database, const RunInfo& run, int limit, std::string_view columns,
                        std::string_view condition) {
    std::vector<std::string> alike;  // "(run.series) IS ?1"
    each_separating(run, [&](const std::string& column, const auto&) {
        alike.push_back(fmt::format("({}) IS ?{}", column, alike.size() + 1));
    });
    const std::size_t next = alike.size() + 1;
    Statement row = database.prepare(fmt::format(
        R"sql(
            SELECT run.name, {}
            FROM run
            JOIN suite ON suite.id = run.suite
            WHERE {} AND {} AND started_ms <= ?{} AND run.name <> ?{} AND {}
            ORDER BY started_ms DESC, run.id DESC LIMIT ?{})sql",
        columns, fmt::join(alike, " AND "), condition, next, next + 1,
        fmt::format(kCovers, next + 2, next + 3), next + 4));
    int place = 0;
    each_separating(run, [&](const std::string&, const auto& value) { row.bind(++place, value); });
    row.bind(++place, std::int64_t{run.started.time_since_epoch().count()});
    row.bind(++place, run.id);
    row.bind(++place, to_column(run.subset));
    row.bind(++place, to_column(options_in(run.subset)));
    row.bind(++place, limit);
    return row;
}

// The counts of states, as columns.
std::string state_columns() { return fmt::format("{}", fmt::join(parsers::kStateNames, ", ")); }

}  // namespace

Expected<std::vector<VerdictRow>> verdict_rows(const Store& store, std::string_view run) {
    return reading(store.impl().database, run, [](Database& database, std::int64_t id) {
        // One state at a time: the index has its results in the order in which they are stored.
        Query<VerdictRow> query(
            database.prepare(
                "SELECT test, id FROM result WHERE run = ?1 AND verdict = 1 AND state = ?2"),
            [](VerdictRow& row, auto column) {
                column("id", row.result);
                column("test", row.test);
            });
        std::vector<VerdictRow> rows;
        for (std::size_t i = 0; i < parsers::kStateNames.size(); ++i) {
            const auto state = static_cast<parsers::State>(i);
            query.bind(id, name_of(state)).each([&](VerdictRow row) {
                row.state = state;
                rows.push_back(row);
            });
        }
        std::sort(rows.begin(), rows.end(),
                  [](const VerdictRow& a, const VerdictRow& b) { return a.test < b.test; });
        return rows;
    });
}

Expected<void> each_failure(const Store& store, std::string_view run,
                            const std::function<void(FailureRow)>& see) {
    const auto read = [&](Database& database, std::int64_t id) {
        // The failures of a result follow each other.
        Query<VerdictFailure> failures(database.prepare(R"sql(
            SELECT result.id AS result, cause, signature, subtest IS NOT NULL AS of_subtest, also,
                failure.id, state, error_class, rule
            FROM result
            CROSS JOIN failure ON failure.result = result.id
            WHERE run = ?1 AND verdict = 1 AND state = ?2)sql"),
                                       [](VerdictFailure& row, auto column) {
                                           COLUMNS(row.failure, result, cause, signature, state,
                                                   error_class, rule);
                                           COLUMNS(row, of_subtest, also, id);
                                       });
        for (const auto state : parsers::kStateNames) {
            if (!analysis::needs_attention(*parsers::state_of(state))) continue;
            VerdictFailure best;
            failures.bind(id, state).each([&](VerdictFailure&& row) {
                const bool is_new = row.failure.result != best.failure.result;
                if (!is_new && best.precedence() < row.precedence()) return;
                if (is_new && best.failure.result != 0) see(std::move(best.failure));
                best = std::move(row);
            });
            if (best.failure.result != 0) see(std::move(best.failure));
        }
        return true;
    };
    return reading(store.impl().database, run, read).map([](bool) {});
}

Expected<std::vector<std::int64_t>> flaky_results(const Store& store, std::string_view run) {
    return reading(store.impl().database, run, [](Database& database, std::int64_t id) {
        Statement row = database.prepare("SELECT id FROM result WHERE run = ? AND flaky = 1");
        row.bind(1, id);
        return values_of<std::int64_t>(row);
    });
}

Expected<std::vector<std::int64_t>> generated_results(const Store& store, std::string_view run) {
    return reading(store.impl().database, run, [](Database& database, std::int64_t id) {
        Statement row = database.prepare(
            "SELECT id FROM result WHERE run = ? AND verdict = 1 AND generated_count > 0");
        row.bind(1, id);
        return values_of<std::int64_t>(row);
    });
}

Expected<std::vector<std::string>> test_ids(const Store& store,
                                            std::span<const std::int64_t> tests) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<std::string>> {
        Statement row = database.prepare("SELECT case_id FROM test WHERE id = ?");
        std::vector<std::string> ids;
        ids.reserve(tests.size());
        for (const std::int64_t test : tests) {
            row.bind(1, test);
            ids.push_back(row.step() ? row.text() : std::string{});
            row.reset();
        }
        return ids;
    });
}

Expected<std::vector<ResultDetail>> result_details(const Store& store,
                                                   std::span<const std::int64_t> results) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<ResultDetail>> {
        Query<ResultDetail> query(
            database.prepare(R"sql(
            SELECT coalesce((
                SELECT key_line
                FROM failure
                WHERE failure.result = result.id
                ORDER BY subtest IS NOT NULL, also, id LIMIT 1), '') AS key_line, result.reason,
                attempt.log, pseudo
            FROM result
            JOIN attempt ON attempt.id = result.attempt
            WHERE result.id = ?)sql"),
            [](ResultDetail& row, auto column) { COLUMNS(row, key_line, reason, log, pseudo); });
        std::vector<ResultDetail> details;
        details.reserve(results.size());
        for (const std::int64_t result : results)
            details.push_back(query.first(result).value_or(ResultDetail{}));
        return details;
    });
}

Expected<std::vector<ModuleRow>> module_rows(const Store& store, std::string_view run) {
    return reading(store.impl().database, run, [](Database& database, std::int64_t id) {
        Query<ModuleRow> query(
            database.prepare(R"sql(
            SELECT attempt.id, path, coalesce(outcome, 'not_run') AS outcome,
                coalesce(reason, '') AS reason, EXISTS (
                SELECT 1
                FROM attempt AS whole
                WHERE whole.module = module.id AND whole.kind = 'whole' AND whole.ready
                    AND whole.outcome <> 'load_error') AS collected
            FROM module
            LEFT JOIN attempt ON attempt.id = (
                SELECT id
                FROM attempt
                WHERE attempt.module = module.id AND kind = 'whole'
                ORDER BY number DESC LIMIT 1)
            WHERE module.run = ?
            ORDER BY position)sql"),
            [](ModuleRow& row, auto column) { COLUMNS(row, path, outcome, reason, collected); },
            "attempt");
        return query.all(id);
    });
}

Expected<std::vector<ComparableRun>> comparable_runs(const Store& store, const RunInfo& run,
                                                     int limit) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<ComparableRun>> {
        struct Found {
            ComparableRun run;
            StateCounts states{};
        };
        Query<Found> query(
            newest_before(database, run, limit,
                          "run.id, argv, repeat_of, subset, modules, " + state_columns(),
                          "complete = 1"),
            [](Found& row, auto column) {
                COLUMNS(row.run, argv, repeat_of, subset, modules);
                column("name", row.run.id);
                describe_states(row.states, column);
            },
            "run");
        std::vector<ComparableRun> runs;
        query.each([&](Found&& found) {
            found.run.tests =
                std::accumulate(found.states.begin(), found.states.end(), std::int64_t{0});
            runs.push_back(std::move(found.run));
        });
        return runs;
    });
}

Expected<std::vector<SeriesRun>> series_before(const Store& store, const RunInfo& run, int limit) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<SeriesRun>> {
        Query<SeriesRun> query(
            newest_before(database, run, limit, "run.id, started_ms, complete, " + state_columns(),
                          "true"),
            [](SeriesRun& row, auto column) {
                column("id", row.row);
                column("name", row.id);
                column("started_ms", row.started);
                column("complete", row.complete);
                describe_states(row.states, column);
            });
        return query.all();
    });
}

Expected<std::vector<StateInSeries>> states_in_series(const Store& store,
                                                      std::span<const SeriesRun> runs,
                                                      std::string_view test) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<StateInSeries>> {
        // With the index of the run in the place of its row.
        Query<StateInSeries> query(
            database.prepare(R"sql(
            SELECT json_each.key AS run, state
            FROM test
            CROSS JOIN json_each(?2)
            CROSS JOIN result ON result.run = json_each.value AND result.test = test.id
                AND verdict = 1
            WHERE test.case_id = ?1
            ORDER BY json_each.key)sql"),
            [](StateInSeries& row, auto column) { COLUMNS(row, run, state); });
        std::vector<std::int64_t> rows;
        for (const SeriesRun& run : runs) rows.push_back(run.row);
        std::vector<StateInSeries> found;
        query.bind(test, nlohmann::json(rows).dump()).each([&](const StateInSeries& state) {
            if (!found.empty() && found.back().run == state.run) found.pop_back();
            found.push_back(state);
        });
        return found;
    });
}

Expected<std::vector<std::string>> repeats_of(const Store& store, std::string_view run, int limit) {
    return reading(store.impl().database, run, [limit](Database& database, std::int64_t id) {
        Statement row = database.prepare(R"sql(
            SELECT other.name
            FROM run
            JOIN run AS other ON other.suite = run.suite AND other.series = run.series
                AND other.complete = 1
                AND iif(other.repeat_of = '', other.name, other.repeat_of)
                    = iif(run.repeat_of = '', run.name, run.repeat_of)
            WHERE run.id = ?1
            ORDER BY other.started_ms DESC, other.id DESC LIMIT ?2)sql");
        row.bind_all(id, limit);
        return values_of<std::string>(row);
    });
}

Expected<std::vector<std::string>> newest_by_device(const Store& store, const RunInfo& run) {
    std::vector<std::string> settings;  // those of any series
    each_separating(run, [&](const std::string& column, const auto&) {
        if (column != "run.series") settings.push_back(column);
    });
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<std::string>> {
        Statement row = database.prepare(fmt::format(R"sql(
            SELECT name
            FROM (SELECT run.name, started_ms, run.id, row_number() OVER (
                PARTITION BY {}
                ORDER BY started_ms DESC, run.id DESC) AS age
                FROM run
                JOIN suite ON suite.id = run.suite
                WHERE suite.name = ?1 AND subset = ?2 AND isolation = ?3 AND network = ?4
                    AND complete = 1 AND shard = '' AND gives_verdicts)
            WHERE age = 1
            ORDER BY started_ms DESC, id DESC)sql",
                                                     fmt::join(settings, ", ")));
        row.bind_all(run.suite, to_column(run.subset), run.isolation, run.network);
        return values_of<std::string>(row);
    });
}

Expected<std::vector<std::string>> jobs_of_import(const Store& store, std::string_view suite) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<std::string>> {
        // All jobs of an import have one start, and only imported runs have no command to run
        // again.
        Statement row = database.prepare(R"sql(
            SELECT run.name
            FROM run
            JOIN suite ON suite.id = run.suite
            WHERE suite.name = ?1 AND "column" <> '' AND json_array_length(rerun_argv) = 0
                AND started_ms = (
                    SELECT max(started_ms)
                    FROM run AS other
                    WHERE other.suite = run.suite AND other."column" <> ''
                        AND json_array_length(other.rerun_argv) = 0)
            ORDER BY run.id)sql");
        row.bind(1, suite);
        return values_of<std::string>(row);
    });
}

}  // namespace compat::store
