#include "runner/store/queries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "runner/base/exit_code.h"
#include "runner/base/files/run_folder_name.h"
#include "runner/store/query.h"
#include "runner/store/reader.h"

namespace compat::store {

namespace {

// How many runs an error names.
constexpr int kCandidates = 5;

// "latest" → 0, "latest~2" → 2, anything else → nothing.
std::optional<std::int64_t> age_of(std::string_view name) {
    constexpr std::string_view kLatest = "latest";
    if (!name.starts_with(kLatest)) return std::nullopt;
    name.remove_prefix(kLatest.size());
    if (name.empty()) return 0;
    if (!name.starts_with('~')) return std::nullopt;
    std::int64_t age = 0;
    const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), age);
    if (error != std::errc{} || end != name.data() + name.size() || age < 0) return std::nullopt;
    return age;
}

// "latest" skips runs that were asked for tests that do not exist and ran none.
constexpr const char* kNamed = R"sql(
            (?1 = '' OR ?1 IN (suite.name, series)) AND NOT (
                coalesce(run.exit_code, 0) IN ({}, {}) AND NOT EXISTS (
                    SELECT 1 FROM result WHERE result.run = run.id)))sql";

std::string where_named() {
    return fmt::format(kNamed, static_cast<int>(ExitCode::usage),
                       static_cast<int>(ExitCode::nothing_selected));
}

// Newest first, but runs that give no verdicts come last: `runner porting` adds such runs. An empty
// `suite` means all.
std::vector<std::string> newest(Database& database, std::string_view suite, std::int64_t limit,
                                std::int64_t offset) {
    Statement row = database.prepare(fmt::format(
        R"sql(
            SELECT run.name
            FROM run
            JOIN suite ON suite.id = run.suite
            WHERE {}
            ORDER BY gives_verdicts DESC, started_ms DESC, run.id DESC LIMIT ?2 OFFSET ?3)sql",
        where_named()));
    row.bind_all(suite, limit, offset);
    return values_of<std::string>(row);
}

tl::unexpected<Error> no_such_run(Database& database, std::string_view name) {
    const auto candidates = newest(database, {}, kCandidates, 0);
    if (candidates.empty())
        return fail(ErrorKind::usage, fmt::format("no run '{}': nothing has been run yet", name),
                    "run a suite first", database.file().string());
    return fail(ErrorKind::usage, fmt::format("no run '{}'", name),
                fmt::format("the newest are {}", fmt::join(candidates, ", ")));
}

Expected<std::string> nth_newest(Database& database, std::string_view name, std::string_view suite,
                                 std::int64_t age) {
    auto found = newest(database, suite, 1, age);
    if (!found.empty()) return std::move(found.front());
    Statement count = database.prepare(fmt::format(
        R"sql(
            SELECT count(*)
            FROM run
            JOIN suite ON suite.id = run.suite
            WHERE {})sql",
        where_named()));
    count.bind(1, suite);
    count.step();
    if (suite.empty()) {
        if (count.integer() == 0) return no_such_run(database, name);
        return fail(ErrorKind::usage,
                    fmt::format("no run '{}': there are {} runs", name, count.integer()));
    }
    if (count.integer() > 0)
        return fail(ErrorKind::usage,
                    fmt::format("no run '{}': '{}' has {} runs", name, suite, count.integer()));
    Statement suites = database.prepare("SELECT name FROM suite ORDER BY name");
    return fail(
        ErrorKind::usage, fmt::format("no run of a suite or series named '{}'", suite),
        fmt::format("there are runs of {}", fmt::join(values_of<std::string>(suites), ", ")));
}

}  // namespace

std::vector<RunSummary> list_runs(Database& database) {
    struct Listed {
        RunSummary run;
        EndColumns end;
    };
    Query<Listed> query(
        database.prepare(fmt::format(
            R"sql(
            SELECT {}, {}, {}, modules, json_array_length(rerun_argv) = 0 AS imported,
                exercised_good, exercised_broken,
                coalesce(json_extract(fingerprint, '$.source.hash'), '') AS source_hash
            FROM run
            JOIN suite ON suite.id = run.suite
            ORDER BY started_ms DESC, run.id DESC)sql",
            run_columns(RunFields::of_lists), kRunEndColumns,
            fmt::join(parsers::kStateNames, ", "))),
        [](Listed& row, auto column) {
            describe_run(row.run, RunFields::of_lists, column);
            describe_end(row.end, column);
            describe_states(row.run.states, column);
            COLUMNS(row.run, modules, imported, exercised_good, exercised_broken, source_hash);
        },
        "run");
    std::vector<RunSummary> runs;
    query.each([&](Listed&& row) {
        complete_fields(row.run);
        row.run.end = row.end.ended();
        runs.push_back(std::move(row.run));
    });
    return runs;
}

Expected<std::string> resolve_run(Database& database, std::string_view name) {
    if (const auto age = age_of(name)) return nth_newest(database, name, {}, *age);
    if (const auto at = name.rfind('@'); at != std::string_view::npos)
        if (const auto age = age_of(name.substr(at + 1)))
            return nth_newest(database, name, name.substr(0, at), *age);
    Statement row = database.prepare(
        R"sql(
            SELECT name
            FROM run
            WHERE substr(name, 1, length(?1)) = ?1
            ORDER BY name = ?1 DESC, started_ms DESC LIMIT ?2)sql");
    row.bind_all(name, kCandidates + 1);
    auto found = name.empty() ? std::vector<std::string>{} : values_of<std::string>(row);
    if (found.empty()) return no_such_run(database, name);
    if (found.size() == 1 || found.front() == name) return std::move(found.front());
    const bool more = found.size() > kCandidates;
    if (more) found.pop_back();
    return fail(ErrorKind::usage, fmt::format("'{}' names several runs", name),
                fmt::format("say which: {}{}", fmt::join(found, ", "), more ? ", …" : ""));
}

Expected<std::int64_t> run_row(Database& database, std::string_view id) {
    Statement row = database.prepare("SELECT id FROM run WHERE name = ?");
    row.bind(1, id);
    if (!row.step()) return no_such_run(database, id);
    return row.integer();
}

std::optional<Store::LaterRun> later_run_in(Database& database, std::string_view series,
                                            WallTime started) {
    Query<Store::LaterRun> query(database.prepare(R"sql(
            SELECT name, started_ms
            FROM run
            WHERE series = ? AND started_ms > ?
            ORDER BY started_ms DESC LIMIT 1)sql"),
                                 [](Store::LaterRun& row, auto column) {
                                     column("name", row.id);
                                     column("started_ms", row.started);
                                 });
    return query.first(series, std::int64_t{started.time_since_epoch().count()});
}

std::vector<HistoryEntry> history_of(Database& database, std::string_view test,
                                     std::string_view suite) {
    Query<HistoryEntry> query(database.prepare(R"sql(
            SELECT run.name AS run, suite.name AS suite, run.started_ms, module.path, result.state,
                result.flaky, result.reason, coalesce((
                SELECT key_line
                FROM failure
                WHERE failure.result = result.id
                ORDER BY subtest IS NOT NULL, also, id LIMIT 1), '') AS key_line,
                result.duration_s, (
                SELECT count(*)
                FROM result AS other
                JOIN attempt AS its ON its.id = other.attempt AND its.kind <> 'diagnostic'
                WHERE other.test = result.test AND other.run = result.run) AS attempts, attempt.log
            FROM test
            JOIN suite ON suite.id = test.suite
            CROSS JOIN run ON run.suite = test.suite
            CROSS JOIN result ON result.run = run.id AND result.test = test.id
                AND result.verdict = 1
            JOIN attempt ON attempt.id = result.attempt
            JOIN module ON module.id = attempt.module
            WHERE test.case_id = ?1 AND (?2 = '' OR suite.name = ?2)
            ORDER BY run.started_ms DESC, run.id DESC)sql"),
                              [](HistoryEntry& row, auto column) {
                                  COLUMNS(row, run, suite, state, flaky, reason, key_line,
                                          duration_s, attempts, log);
                                  column("started_ms", row.started);
                                  column("path", row.module);
                              });
    return query.all(test, suite);
}

std::vector<std::string> tests_with(Database& database, std::string_view part, std::string_view run,
                                    int limit) {
    Statement row = database.prepare(R"sql(
            SELECT DISTINCT case_id
            FROM test
            WHERE instr(case_id, ?1) > 0 AND EXISTS (
                SELECT 1
                FROM run
                CROSS JOIN result ON result.run = run.id AND result.test = test.id
                WHERE run.suite = test.suite AND (?2 = '' OR run.name = ?2))
            ORDER BY substr(case_id, -length(?1) - 2) <> '::' || ?1, case_id LIMIT ?3)sql");
    row.bind_all(part, run, limit);
    return values_of<std::string>(row);
}

std::vector<Store::Verdict> verdicts_in(Database& database, std::int64_t run) {
    Query<Store::Verdict> query(database.prepare(R"sql(
            SELECT case_id, state, tests
            FROM result
            JOIN test ON test.id = result.test
            WHERE run = ? AND verdict = 1
            ORDER BY result.id)sql"),
                                [](Store::Verdict& row, auto column) {
                                    COLUMNS(row, state, tests);
                                    column("case_id", row.test);
                                });
    return query.all(run);
}

std::vector<CaseSummary> cases_of(Database& database, std::int64_t run, const CaseFilter& filter,
                                  std::int64_t after, int limit) {
    // Each index has the tests of one state or one attempt in the order of the list. A page merges
    // the first rows of each.
    constexpr std::string_view kPage = R"sql(
            SELECT result.id, module.path, case_id, state, result.reason, coalesce((
                SELECT key_line
                FROM failure
                WHERE failure.result = result.id
                ORDER BY subtest IS NOT NULL, also, id LIMIT 1), '') AS key_line,
                result.started_ms, result.duration_s, attempt.number, attempt.log
            FROM result
            CROSS JOIN attempt ON attempt.id = result.attempt
            CROSS JOIN module ON module.id = attempt.module
            CROSS JOIN test ON test.id = result.test
            WHERE {} AND verdict = 1 AND state = ?2 AND result.id > ?3
            ORDER BY result.id LIMIT ?4)sql";
    std::vector<std::int64_t> parents{run};
    if (!filter.module.empty()) {
        Statement row = database.prepare(R"sql(
            SELECT attempt.id
            FROM module
            JOIN attempt ON attempt.module = module.id
            WHERE run = ? AND path = ?)sql");
        row.bind_all(run, filter.module);
        parents = values_of<std::int64_t>(row);
    }
    Query<CaseSummary> page(database.prepare(fmt::format(
                                kPage, filter.module.empty() ? "result.run = ?1" : "attempt = ?1")),
                            [](CaseSummary& row, auto column) {
                                COLUMNS(row, state, reason, key_line, duration_s, log);
                                column("id", row.cursor);
                                column("path", row.module);
                                column("case_id", row.id);
                                column("started_ms", row.started);
                                column("number", row.attempt);
                            });
    std::vector<CaseSummary> found;
    for (const std::int64_t parent : parents)
        for (size_t i = 0; i < parsers::kStateNames.size(); ++i) {
            const auto state = static_cast<parsers::State>(i);
            if (!filter.states.empty() &&
                std::find(filter.states.begin(), filter.states.end(), state) == filter.states.end())
                continue;
            page.bind(parent, name_of(state), after, limit).each([&](CaseSummary&& test) {
                found.push_back(std::move(test));
            });
        }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.cursor < b.cursor; });
    if (found.size() > static_cast<size_t>(std::max(limit, 0)))
        found.resize(static_cast<size_t>(std::max(limit, 0)));
    return found;
}

Store::Extent extent_in(Database& database, std::int64_t run) {
    Query<Store::Extent> query(database.prepare(fmt::format(R"sql(
            SELECT {}, modules, (
                SELECT count(*)
                FROM module
                JOIN attempt ON attempt.module = module.id
                WHERE module.run = run.id) AS attempts, coalesce((
                SELECT sum(tests - 1)
                FROM result
                WHERE result.run = run.id AND tests <> 1 AND verdict = 1), 0) AS rowless
            FROM run
            WHERE id = ?1)sql",
                                                            fmt::join(parsers::kStateNames, ", "))),
                               [](Store::Extent& row, auto column) {
                                   describe_states(row.states, column);
                                   COLUMNS(row, modules, attempts, rowless);
                               });
    return query.first(run).value_or(Store::Extent{});
}

// A test is looked up in each of them until its ways are known.
constexpr int kOtherWays = 20;

std::vector<std::int64_t> other_ways_of(Database& database, std::int64_t run) {
    Statement row = database.prepare(R"sql(
            SELECT other.id
            FROM run
            JOIN run AS other ON other.suite = run.suite AND other.id <> run.id
                AND other.commit_id = run.commit_id AND other.torch = run.torch
                AND other.hub = run.hub
            WHERE run.id = ?1 AND run.commit_id <> '' AND NOT run.dirty AND NOT other.dirty
                AND other.complete = 1 AND other.gives_verdicts
                AND json_array_length(other.rerun_argv) > 0
                AND NOT (other.shim = run.shim AND other.device = run.device
                    AND other.simulated IS run.simulated AND other.policy = run.policy
                    AND other.fallback = run.fallback)
            ORDER BY other.id DESC LIMIT ?2)sql");
    row.bind_all(run, kOtherWays);
    return values_of<std::int64_t>(row);
}

std::optional<TestVerdict> verdict_in(Database& database, std::int64_t run, std::string_view test) {
    Query<TestVerdict> query(
        database.prepare(R"sql(
            SELECT state, coalesce((
                SELECT signature
                FROM failure
                WHERE failure.result = result.id AND NOT also
                ORDER BY subtest IS NOT NULL, id LIMIT 1), '') AS signature,
                generated_count > 0 AS generated
            FROM test
            CROSS JOIN result ON result.run = ?1 AND result.test = test.id AND verdict = 1
            WHERE test.case_id = ?2)sql"),
        [](TestVerdict& row, auto column) { COLUMNS(row, state, signature, generated); });
    return query.first(run, test);
}

SuitePast past_of(Database& database, std::string_view suite) {
    // Steps from path to path, and for each to its latest runs with a usable first attempt: one
    // that was cut short or never began has no meaningful duration. A run of some of the module's
    // tests, or with options that may choose them, counts only where none of these is whole; what
    // failed in it since then has failed.
    constexpr std::string_view kLatest = "ORDER BY run_started_ms DESC LIMIT 10";
    constexpr std::string_view kPart = R"sql(
            (module.run IN (SELECT run FROM part_of_suite) OR EXISTS (
                SELECT 1
                FROM attempt
                WHERE attempt.module = module.id AND number = 1 AND only_ids <> '[]')) AS part)sql";
    const auto duration = [&](std::string_view which) {
        return fmt::format(R"sql(
            (SELECT seconds
            FROM (SELECT attempt.duration_s AS seconds, run_started_ms, {}
                FROM module
                CROSS JOIN attempt ON attempt.module = module.id AND attempt.number = 1
                WHERE module.suite = known.suite AND module.path = known.path {}
                    AND attempt.outcome NOT IN ('interrupted', 'spawn_failed', 'not_run')
                {}) AS last_ten
            ORDER BY part, run_started_ms DESC LIMIT 1))sql",
                           kPart, which, kLatest);
    };
    const std::string states = fmt::format(R"sql(
            (SELECT module.failed OR module.errored OR module.crashed OR module.timed_out
                OR (module.xpassed AND run.framework = 'unittest') AS failed, run_started_ms, {}
            FROM module
            CROSS JOIN run ON run.id = module.run
            WHERE module.suite = known.suite AND module.path = known.path
                AND EXISTS (SELECT 1 FROM attempt WHERE attempt.module = module.id)
                AND run.gives_verdicts
            {}) AS last_ten)sql",
                                           kPart, kLatest);
    const std::string failed = fmt::format(R"sql(
            (SELECT max(failed)
            FROM {0}
            WHERE run_started_ms >= (
                SELECT run_started_ms
                FROM {0}
                ORDER BY part, run_started_ms DESC LIMIT 1)))sql",
                                           states);
    struct Past {
        std::string path;
        std::optional<double> duration, whole_duration;
        bool failed = false, needs_fresh_process = false;
    };
    Query<Past> query(database.prepare(fmt::format(
                          R"sql(
            WITH RECURSIVE known (suite, path) AS (
                SELECT id, (SELECT min(path) FROM module WHERE module.suite = suite.id)
                FROM suite
                WHERE name = ?1
                UNION ALL
                SELECT suite, (SELECT min(module.path)
                FROM module
                WHERE module.suite = known.suite AND module.path > known.path)
                FROM known
                WHERE path IS NOT NULL),
            part_of_suite (run) AS MATERIALIZED (
                SELECT run.id
                FROM run
                JOIN suite ON suite.id = run.suite
                WHERE suite.name = ?1 AND EXISTS (
                    SELECT 1 FROM json_each(subset) WHERE value IN ('-k', '--')))
            SELECT path, duration, whole_duration, failed, CASE WHEN failed THEN (
                SELECT min(EXISTS (
                    SELECT 1
                    FROM attempt AS later
                    WHERE later.module = last_ten.id AND later.number = 2 AND NOT later.forked
                        AND later.kind <> 'diagnostic'))
                FROM (SELECT id, run FROM module
                    WHERE module.suite = past.suite AND module.path = past.path
                    {}) AS last_ten
                CROSS JOIN attempt AS first
                    ON first.module = last_ten.id AND first.number = 1 AND first.forked
                CROSS JOIN run ON run.id = last_ten.run
                    AND json_extract(run.fingerprint, '$.settings.confirm') = 'new'
                    AND json_extract(run.fingerprint, '$.settings.retries') = '0'
                    AND run.gives_verdicts)
                END AS needs_fresh_process
            FROM (SELECT suite, path, {} AS duration, {} AS whole_duration, {} AS failed
                FROM known
                WHERE path IS NOT NULL) AS past)sql",
                          kLatest, duration(""), duration("AND sharded = 0"), failed)),
                      [](Past& row, auto column) {
                          COLUMNS(row, path, duration, whole_duration, failed, needs_fresh_process);
                      });
    SuitePast past;
    query.bind(suite).each([&](const Past& row) {
        if (row.duration) past.seconds.emplace(row.path, *row.duration);
        if (row.whole_duration) past.seconds_of_whole_runs.emplace(row.path, *row.whole_duration);
        if (row.failed) past.failed.insert(row.path);
        if (row.needs_fresh_process) past.needs_fresh_process.insert(row.path);
    });
    return past;
}

}  // namespace compat::store
