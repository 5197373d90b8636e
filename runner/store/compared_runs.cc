#include "runner/store/compared_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "runner/store/comparable.h"
#include "runner/store/edge.h"
#include "runner/store/json_column.h"
#include "runner/store/queries.h"
#include "runner/store/reader.h"
#include "runner/store/store_impl.h"

namespace compat::store {

namespace {

// States in which a failure decides.
constexpr std::array kBrokenStates{parsers::State::failed, parsers::State::errored,
                                   parsers::State::crashed, parsers::State::timed_out};

// Calls `read(database, row of the run)`.
template <class Read>
auto reading(const Store& store, std::string_view run, Read read) {
    Database& database = store.impl().database;
    using Value = std::invoke_result_t<Read, Database&, std::int64_t>;
    return guarded(database.file(), [&]() -> Expected<Value> {
        const auto row = run_row(database, run);
        if (!row) return tl::unexpected(row.error());
        return read(database, *row);
    });
}

// The test's own failure before that of a sub-test, the first before further ones.
auto precedence(const Statement& row) {
    return std::tuple(row.flag(3), row.flag(4), row.integer(5));
}

std::vector<std::string> names_in(Statement& row) {
    std::vector<std::string> names;
    while (row.step()) names.push_back(row.text(0));
    return names;
}

// Runs before `run` that are comparable with it and also fulfil `condition`, newest first. Columns:
// the name, `columns`, the counts of states, the number of modules.
Statement newest_before(Database& database, const RunInfo& run, int limit, std::string_view columns,
                        std::string_view condition) {
    std::vector<std::string> alike;  // "(run.series) IS ?1"
    each_separating(run, [&](const std::string& column, const auto&) {
        alike.push_back(fmt::format("({}) IS ?{}", column, alike.size() + 1));
    });
    const std::size_t next = alike.size() + 1;
    Statement row = database.prepare(fmt::format(
        R"sql(
            SELECT run.name, {}, {}, modules
            FROM run
            JOIN suite ON suite.id = run.suite
            WHERE {} AND {} AND started_ms <= ?{} AND run.name <> ?{} AND {}
            ORDER BY started_ms DESC, run.id DESC LIMIT ?{})sql",
        columns, fmt::join(parsers::kStateNames, ", "), fmt::join(alike, " AND "), condition, next,
        next + 1, fmt::format(kCovers, next + 2, next + 3), next + 4));
    int place = 0;
    each_separating(run, [&](const std::string&, const auto& value) { row.bind(++place, value); });
    row.bind(++place, std::int64_t{run.started.time_since_epoch().count()});
    row.bind(++place, run.id);
    row.bind(++place, to_column(run.subset));
    row.bind(++place, to_column(options_in(run.subset)));
    row.bind(++place, limit);
    return row;
}

// From the columns that begin at `first`.
StateCounts states_of(const Statement& row, int first) {
    StateCounts states{};
    for (std::size_t i = 0; i < states.size(); ++i)
        states[i] = row.integer(first + static_cast<int>(i));
    return states;
}

}  // namespace

Expected<std::vector<VerdictRow>> verdict_rows(const Store& store, std::string_view run) {
    return reading(store, run, [](Database& database, std::int64_t id) {
        // One state at a time: the index has its results in the order in which they are stored.
        Statement row = database.prepare(
            "SELECT test, id FROM result WHERE run = ?1 AND verdict = 1 AND state = ?2");
        std::vector<VerdictRow> rows;
        for (std::size_t i = 0; i < parsers::kStateNames.size(); ++i) {
            const auto state = static_cast<parsers::State>(i);
            row.bind_all(id, name_of(state));
            while (row.step()) rows.push_back({row.integer(0), row.integer(1), state});
            row.reset();
        }
        std::sort(rows.begin(), rows.end(),
                  [](const VerdictRow& a, const VerdictRow& b) { return a.test < b.test; });
        return rows;
    });
}

Expected<void> each_failure(const Store& store, std::string_view run,
                            const std::function<void(FailureRow)>& see) {
    return reading(
               store, run,
               [&](Database& database, std::int64_t id) {
                   // The failures of a result follow each other.
                   Statement row = database.prepare(R"sql(
            SELECT result.id, cause, coalesce(signature, ''), subtest IS NOT NULL, also, failure.id,
                coalesce(error_class, ''), coalesce(rule, '')
            FROM result
            CROSS JOIN failure ON failure.result = result.id
            WHERE run = ?1 AND verdict = 1 AND state = ?2)sql");
                   for (const auto state : kBrokenStates) {
                       row.bind_all(id, name_of(state));
                       FailureRow first;
                       decltype(precedence(row)) best;
                       while (row.step()) {
                           const bool is_new = row.integer(0) != first.result;
                           if (!is_new && best < precedence(row)) continue;
                           if (is_new && first.result != 0) see(std::move(first));
                           best = precedence(row);
                           first = {
                               row.integer(0), parsers::cause_of(row.text(1)),       row.text(2),
                               state,          parsers::error_class_of(row.text(6)), row.text(7)};
                       }
                       if (first.result != 0) see(std::move(first));
                       row.reset();
                   }
                   return true;
               })
        .map([](bool) {});
}

Expected<std::vector<std::int64_t>> flaky_results(const Store& store, std::string_view run) {
    return reading(store, run, [](Database& database, std::int64_t id) {
        Statement row = database.prepare("SELECT id FROM result WHERE run = ? AND flaky = 1");
        row.bind(1, id);
        std::vector<std::int64_t> results;
        while (row.step()) results.push_back(row.integer(0));
        return results;
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
            ids.push_back(row.step() ? row.text(0) : std::string{});
            row.reset();
        }
        return ids;
    });
}

Expected<std::vector<ResultDetail>> result_details(const Store& store,
                                                   std::span<const std::int64_t> results) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<ResultDetail>> {
        Statement row = database.prepare(R"sql(
            SELECT coalesce((
                SELECT key_line
                FROM failure
                WHERE failure.result = result.id
                ORDER BY subtest IS NOT NULL, also, id LIMIT 1), ''), result.reason, attempt.log,
                pseudo
            FROM result
            JOIN attempt ON attempt.id = result.attempt
            WHERE result.id = ?)sql");
        std::vector<ResultDetail> details;
        details.reserve(results.size());
        for (const std::int64_t result : results) {
            row.bind(1, result);
            ResultDetail& detail = details.emplace_back();
            if (row.step()) detail = {row.text(0), row.text(1), row.text(2), row.flag(3)};
            row.reset();
        }
        return details;
    });
}

Expected<std::vector<ModuleRow>> module_rows(const Store& store, std::string_view run) {
    return reading(store, run, [](Database& database, std::int64_t id) {
        Statement row = database.prepare(R"sql(
            SELECT path, coalesce(outcome, 'not_run'), coalesce(reason, ''), EXISTS (
                SELECT 1
                FROM attempt AS whole
                WHERE whole.module = module.id AND whole.kind = 'whole' AND whole.ready
                    AND whole.outcome <> 'load_error')
            FROM module
            LEFT JOIN attempt ON attempt.id = (
                SELECT id
                FROM attempt
                WHERE attempt.module = module.id AND kind = 'whole'
                ORDER BY number DESC LIMIT 1)
            WHERE module.run = ?
            ORDER BY position)sql");
        row.bind(1, id);
        std::vector<ModuleRow> rows;
        while (row.step()) {
            const auto outcome = parsers::module_outcome_of(row.text(1));
            if (!outcome) throw_damaged("attempt.outcome", id, "no outcome of a module");
            rows.push_back({row.text(0), *outcome, row.text(2), row.flag(3)});
        }
        return rows;
    });
}

Expected<std::vector<ComparableRun>> comparable_runs(const Store& store, const RunInfo& run,
                                                     int limit) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<ComparableRun>> {
        Statement row =
            newest_before(database, run, limit, "argv, repeat_of, subset", "complete = 1");
        std::vector<ComparableRun> runs;
        while (row.step()) {
            const StateCounts states = states_of(row, 4);
            runs.push_back({row.text(0),
                            from_column<std::vector<std::string>>(row.text(1), "run.argv", 0),
                            row.text(2), from_column<Subset>(row.text(3), "run.subset", 0),
                            row.integer(4 + static_cast<int>(states.size())),
                            std::accumulate(states.begin(), states.end(), std::int64_t{0})});
        }
        return runs;
    });
}

Expected<std::vector<SeriesRun>> series_before(const Store& store, const RunInfo& run, int limit) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<SeriesRun>> {
        Statement row = newest_before(database, run, limit,
                                      "run.id, started_ms, coalesce(complete, 0)", "true");
        std::vector<SeriesRun> runs;
        while (row.step())
            runs.push_back({row.integer(1), row.text(0), wall_time(row.integer(2)), row.flag(3),
                            states_of(row, 4)});
        return runs;
    });
}

Expected<std::vector<StateInSeries>> states_in_series(const Store& store,
                                                      std::span<const SeriesRun> runs,
                                                      std::string_view test) {
    Database& database = store.impl().database;
    return guarded(database.file(), [&]() -> Expected<std::vector<StateInSeries>> {
        std::vector<std::int64_t> rows;
        for (const SeriesRun& run : runs) rows.push_back(run.row);
        Statement row = database.prepare(R"sql(
            SELECT result.run, state
            FROM test
            CROSS JOIN json_each(?2)
            CROSS JOIN result ON result.run = json_each.value AND result.test = test.id
                AND verdict = 1
            WHERE test.case_id = ?1)sql");
        row.bind_all(test, nlohmann::json(rows).dump());
        std::vector<std::optional<parsers::State>> states(runs.size());
        while (row.step()) {
            const auto at = std::find(rows.begin(), rows.end(), row.integer(0)) - rows.begin();
            states[static_cast<std::size_t>(at)] = state_column(row, 1);
        }
        std::vector<StateInSeries> found;
        for (std::size_t i = 0; i < states.size(); ++i)
            if (states[i]) found.push_back({i, *states[i]});
        return found;
    });
}

Expected<std::vector<std::string>> repeats_of(const Store& store, std::string_view run, int limit) {
    return reading(store, run, [limit](Database& database, std::int64_t id) {
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
        return names_in(row);
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
        return names_in(row);
    });
}

}  // namespace compat::store
