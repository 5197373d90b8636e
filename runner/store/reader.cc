#include "runner/store/reader.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <unordered_map>

#include "runner/store/json_column.h"

namespace compat::store {

namespace {

using nlohmann::json;
using parsers::CaseRecord;
using parsers::Failure;

template <class T>
T known(std::optional<T> value, const std::string& word) {
    if (!value) throw SqlError(SQLITE_CORRUPT, fmt::format("unknown word '{}'", word));
    return *value;
}

json json_column(const Statement& row, int column) {
    json value = json::parse(row.text(column), nullptr, false);
    if (value.is_discarded()) throw SqlError(SQLITE_CORRUPT, "a column is not JSON");
    return value;
}

// Where a row's parent was put.
size_t place(const std::unordered_map<std::int64_t, size_t>& places, std::int64_t parent) {
    const auto at = places.find(parent);
    if (at == places.end()) throw SqlError(SQLITE_CORRUPT, "a row has lost its parent");
    return at->second;
}

std::optional<parsers::State> optional_state(const Statement& row, int column) {
    if (row.is_null(column)) return std::nullopt;
    return state_column(row, column);
}

RunInfo read_info(Database& database, std::int64_t run) {
    Statement row = database.prepare(
        R"sql(
            SELECT run.name, suite.name, series, started_ms, framework, shim, policy,
                masquerade, device, simulated, fallback, commit_id, dirty, remote, torch,
                root, links_base, python, env, argv, rerun_argv, fingerprint, folder,
                folder_format, shard, plan, repeat_of
            FROM run
            JOIN suite ON suite.id = run.suite
            WHERE run.id = ?)sql");
    row.bind(1, run);
    row.step();
    RunInfo info;
    info.id = row.text(0);
    info.suite = row.text(1);
    info.series = row.text(2);
    info.started = wall_time(row.integer(3));
    info.framework = row.text(4);
    info.shim = row.flag(5);
    info.policy = row.text(6);
    info.masquerade = row.flag(7);
    info.device = row.text(8);
    info.simulated = row.optional_text(9);
    info.fallback = row.flag(10);
    info.commit = row.text(11);
    info.dirty = row.flag(12);
    info.remote = row.text(13);
    info.torch = row.text(14);
    info.root = row.text(15);
    info.links_base = row.text(16);
    info.python = row.text(17);
    info.env = json_column(row, 18).get<decltype(info.env)>();
    info.argv = json_column(row, 19).get<decltype(info.argv)>();
    info.rerun_argv = json_column(row, 20).get<decltype(info.rerun_argv)>();
    info.fingerprint = row.text(21);
    info.folder = row.text(22);
    info.folder_format = static_cast<int>(row.integer(23));
    info.shard = row.text(24);
    info.plan = row.text(25);
    info.repeat_of = row.text(26);
    return info;
}

std::optional<RunEnd> read_end_of(Database& database, std::int64_t run) {
    Statement row =
        database.prepare(fmt::format("SELECT {} FROM run WHERE id = ?", kRunEndColumns));
    row.bind(1, run);
    row.step();
    auto end = read_end(row, 0);
    if (!end) return end;
    Statement rows =
        database.prepare("SELECT module, message FROM mismatch WHERE run = ? ORDER BY id");
    rows.bind(1, run);
    while (rows.step()) end->mismatches.push_back({rows.text(0), rows.text(1)});
    return end;
}

JobResult read_attempt(const Statement& row) {
    JobResult job;
    job.attempt = static_cast<int>(row.integer(2));
    parsers::ModuleRecord& record = job.record;
    record.outcome = known(parsers::module_outcome_of(row.text(3)), row.text(3));
    record.reason = row.text(4);
    record.framework = row.text(5);
    record.framework_version = row.text(6);
    record.python_version = row.text(7);
    record.collected = row.integer(8);
    job.started = wall_time(row.integer(9));
    job.duration_s = row.real(10);
    job.user_s = row.real(11);
    job.system_s = row.real(12);
    job.max_rss_bytes = row.integer(13);
    job.log = row.text(14);
    job.events = row.text(15);
    job.devices = row.text(16);
    job.process_end = row.text(17);
    job.dropped_log_bytes = row.integer(18);
    record.finished = row.flag(19);
    record.from_text = row.flag(22);
    job.kind = known(attempt_kind_of(row.text(23)), row.text(23));
    record.forked = row.flag(24);
    job.only = json_column(row, 25).get<std::vector<std::string>>();
    record.ready = row.flag(26);
    job.peak_rss_bytes = row.integer(27);
    job.read_bytes = row.integer(28);
    job.written_bytes = row.integer(29);
    if (!row.is_null(20)) {
        const json shim = json_column(row, 20);
        const auto text = [&](const char* key) { return shim.at(key).get<std::string>(); };
        record.shim = {text("version"), text("torch"),     text("host"),
                       text("mode"),    text("simulated"), shim.at("masquerade").get<bool>()};
    }
    if (!row.is_null(21)) {
        const json closing = json_column(row, 21);
        record.closing.emplace();
        record.closing->text = closing.at("text").get<std::string>();
        if (!closing.at("ran").is_null())
            record.closing->ran = closing.at("ran").get<std::int64_t>();
        record.closing->counts = closing.at("counts").get<decltype(record.closing->counts)>();
    }
    if (!row.is_null(30)) {
        const json ended = json_column(row, 30);
        const auto kind = ended.at("kind").get<std::string>();
        job.ended = {
            known(end_kind_of(kind), kind),        ended.at("code").get<int>(),
            ended.at("detail").get<std::string>(), static_cast<std::uint64_t>(job.peak_rss_bytes),
            ended.at("of_test").get<bool>(),       ended.at("limit_s").get<double>()};
    }
    return job;
}

Failure read_failure(const Statement& row, int first) {
    Failure failure;
    failure.type = row.text(first);
    failure.message = row.text(first + 1);
    failure.phase = known(parsers::phase_of(row.text(first + 2)), row.text(first + 2));
    failure.counted = optional_state(row, first + 3);
    failure.traceback = row.text(first + 4);
    for (const json& frame : json_column(row, first + 5))
        failure.frames.push_back({frame.at(0).get<std::string>(), frame.at(1).get<int>(),
                                  frame.at(2).get<std::string>()});
    failure.signature = row.optional_text(first + 6).value_or("");
    if (row.is_null(first + 7)) return failure;
    parsers::Diagnosis& why = failure.diagnosis.emplace();
    const auto word = [&](int column, auto named) {
        return known(named(row.text(first + column)), row.text(first + column));
    };
    why.cause = word(7, parsers::cause_of);
    if (!row.is_null(first + 8)) why.error_class = word(8, parsers::error_class_of);
    why.confidence = word(9, parsers::confidence_of);
    why.rule = row.text(first + 10);
    why.key_line = row.text(first + 11);
    return failure;
}

double duration_so_far(Database& database, std::int64_t run) {
    Statement row = database.prepare(
        R"sql(
            SELECT coalesce(max((attempt.started_ms - run.started_ms) / 1000.0
                + attempt.duration_s), 0)
            FROM run
            JOIN module ON module.run = run.id
            JOIN attempt ON attempt.module = module.id
            WHERE run.id = ?)sql");
    row.bind(1, run);
    row.step();
    return row.real(0);
}

// Reads a module's attempts, of each table by table in the order in which it was written, and hangs
// every row where its parent already is. Its statements serve one module after the other.
class ModuleReader {
  public:
    explicit ModuleReader(Database& database)
        : attempts_(database.prepare(R"sql(
            SELECT id, module, number, outcome, reason, framework,
                framework_version, python_version, collected, started_ms, duration_s,
                user_s, system_s, max_rss_bytes, log, events, devices, process_end,
                dropped_log_bytes, finished, shim, closing, from_text, kind, forked, only_ids,
                ready, peak_rss_bytes, read_bytes, written_bytes, ended
            FROM attempt
            WHERE module = ?
            ORDER BY number)sql")),
          cases_(database.prepare(R"sql(
            SELECT result.id, case_id, name, state, phase, reason, duration_s,
                path, line, started, call_state, pseudo
            FROM result
            JOIN test ON test.id = result.test
            LEFT JOIN source_file ON source_file.id = result.file
            WHERE attempt = ?
            ORDER BY result.id)sql")),
          subtests_(database.prepare(R"sql(
            SELECT subtest.id, result, label, subtest.state, subtest.reason
            FROM result
            JOIN subtest ON subtest.result = result.id
            WHERE attempt = ?
            ORDER BY subtest.id)sql")),
          failures_(database.prepare(R"sql(
            SELECT failure.result, subtest, also, type, message, failure.phase, counted,
                traceback, frames, signature, cause, error_class, confidence, rule, key_line
            FROM result
            JOIN failure ON failure.result = result.id
            WHERE attempt = ?
            ORDER BY failure.id)sql")),
          device_events_(database.prepare(R"sql(
            SELECT case_id, site.kind, op, asked, given, file, line, count
            FROM device_event
            JOIN site ON site.id = device_event.site
            LEFT JOIN test ON test.id = device_event.test
            WHERE attempt = ?
            ORDER BY device_event.id)sql")),
          kernels_(database.prepare(R"sql(
            SELECT case_id, device, count
            FROM kernel_count
            LEFT JOIN test ON test.id = kernel_count.test
            WHERE attempt = ?
            ORDER BY kernel_count.id)sql")),
          diagnostics_(database.prepare(R"sql(
            SELECT file, byte_offset, message
            FROM diagnostic
            WHERE attempt = ?
            ORDER BY id)sql")),
          leaked_(database.prepare(R"sql(
            SELECT pid, argv, killed
            FROM leaked_process
            WHERE attempt = ?
            ORDER BY id)sql")) {}

    std::vector<JobResult> attempts(std::int64_t module, const std::string& path) {
        std::vector<JobResult> jobs;
        std::vector<std::int64_t> ids;
        each(attempts_, module, [&](const Statement& row) {
            ids.push_back(row.integer(0));
            jobs.push_back(read_attempt(row));
            jobs.back().record.path = path;
        });
        for (size_t i = 0; i < jobs.size(); ++i) {
            cases(ids[i], jobs[i].record.cases);
            devices(ids[i], jobs[i].record);
            findings(ids[i], jobs[i]);
        }
        return jobs;
    }

  private:
    template <class Function>
    static void each(Statement& statement, std::int64_t parent, Function function) {
        statement.bind(1, parent);
        while (statement.step()) function(statement);
        statement.reset();
    }

    void cases(std::int64_t attempt, std::vector<CaseRecord>& into) {
        std::unordered_map<std::int64_t, size_t> places;           // of results
        std::unordered_map<std::int64_t, size_t> places_in_tests;  // of sub-tests
        each(cases_, attempt, [&](const Statement& row) {
            places.emplace(row.integer(0), into.size());
            CaseRecord& found = into.emplace_back();
            found.id = row.text(1);
            found.name = row.text(2);
            found.state = state_column(row, 3);
            found.phase = known(parsers::phase_of(row.text(4)), row.text(4));
            found.reason = row.text(5);
            found.duration_s = row.real(6);
            found.location = {row.text(7), static_cast<int>(row.integer(8))};
            found.started = row.flag(9);
            found.call_state = optional_state(row, 10);
            found.pseudo = row.flag(11);
        });
        each(subtests_, attempt, [&](const Statement& row) {
            auto& list = into[place(places, row.integer(1))].subcases;
            places_in_tests.emplace(row.integer(0), list.size());
            auto& found = list.emplace_back();
            found.label = row.text(2);
            found.state = state_column(row, 3);
            found.reason = row.text(4);
        });
        each(failures_, attempt, [&](const Statement& row) {
            CaseRecord& test = into[place(places, row.integer(0))];
            Failure failure = read_failure(row, 3);
            if (const auto subtest = row.optional_integer(1))
                test.subcases[place(places_in_tests, *subtest)].failure = std::move(failure);
            else if (row.flag(2))
                test.also.push_back(std::move(failure));
            else
                test.failure = std::move(failure);
        });
    }

    void devices(std::int64_t attempt, parsers::ModuleRecord& into) {
        each(device_events_, attempt, [&](const Statement& row) {
            into.device_events.push_back({row.text(0),
                                          row.text(1),
                                          row.text(2),
                                          row.text(3),
                                          row.text(4),
                                          {row.text(5), static_cast<int>(row.integer(6))},
                                          row.integer(7)});
        });
        each(kernels_, attempt, [&](const Statement& row) {
            into.kernels.push_back({row.text(0), row.text(1), row.integer(2)});
        });
    }

    void findings(std::int64_t attempt, JobResult& into) {
        each(diagnostics_, attempt, [&](const Statement& row) {
            into.record.diagnostics.push_back({row.text(0), row.integer(1), row.text(2)});
        });
        each(leaked_, attempt, [&](const Statement& row) {
            into.leaked.push_back(
                {row.integer(0), json_column(row, 1).get<std::vector<std::string>>(), row.flag(2)});
        });
    }

    Statement attempts_;
    Statement cases_;
    Statement subtests_;
    Statement failures_;
    Statement device_events_;
    Statement kernels_;
    Statement diagnostics_;
    Statement leaked_;
};

}  // namespace

WallTime wall_time(std::int64_t ms) { return WallTime(Milliseconds(ms)); }

parsers::State state_column(const Statement& row, int column) {
    return known(parsers::state_of(row.text(column)), row.text(column));
}

std::optional<RunEnd> read_end(const Statement& row, int first) {
    if (row.is_null(first)) return std::nullopt;
    RunEnd end;
    end.finished = wall_time(row.integer(first));
    end.duration_s = row.real(first + 1);
    end.complete = row.flag(first + 2);
    end.exit_code = static_cast<int>(row.integer(first + 3));
    end.accounting_closed = row.flag(first + 4);
    end.not_run_reason = row.text(first + 5);
    return end;
}

std::optional<std::int64_t> read_last_known_cases(Database& database, std::string_view suite,
                                                  std::string_view module,
                                                  std::optional<WallTime> before) {
    Statement row = database.prepare(
        R"sql(
            SELECT collected
            FROM suite
            CROSS JOIN module ON module.suite = suite.id
            CROSS JOIN attempt ON attempt.module = module.id
            WHERE suite.name = ?1 AND module.path = ?2 AND attempt.outcome = 'completed'
                AND (?3 IS NULL OR run_started_ms < ?3)
            ORDER BY run_started_ms DESC, attempt.number LIMIT 1)sql");
    std::optional<std::int64_t> latest;
    if (before) latest = before->time_since_epoch().count();
    row.bind_all(suite, module, latest);
    if (!row.step()) return std::nullopt;
    return row.integer(0);
}

StoredRun read_run(Database& database, std::int64_t run) {
    StoredRun stored{read_info(database, run), read_end_of(database, run), 0};
    stored.duration_s = stored.end ? stored.end->duration_s : duration_so_far(database, run);
    return stored;
}

Expected<void> read_modules(Database& database, std::int64_t run, const SeeModule& see) {
    const StoredRun whole = read_run(database, run);
    std::vector<std::pair<std::int64_t, std::string>> planned;
    Statement row =
        database.prepare("SELECT id, path FROM module WHERE run = ? ORDER BY position, id");
    row.bind(1, run);
    while (row.step()) planned.emplace_back(row.integer(0), row.text(1));
    row.reset();
    ModuleReader reader(database);
    for (const auto& [id, path] : planned) {
        StoredModule module{path, reader.attempts(id, path), {}, {}};
        if (module.attempts.empty()) {
            if (whole.end) module.not_run_reason = whole.end->not_run_reason;
            module.last_known_cases =
                read_last_known_cases(database, whole.info.suite, path, whole.info.started);
        }
        if (auto seen = see(std::move(module)); !seen) return seen;
    }
    return {};
}

}  // namespace compat::store
