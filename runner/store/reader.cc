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

json json_column(const Statement& row, int column) { return json::parse(row.text(column)); }

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
    job.forked = row.flag(24);
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
    return failure;
}

// Reads a run table by table, each in the order in which it was written, and hangs every row where
// its parent already is.
class RunReader {
  public:
    RunReader(Database& database, std::int64_t run) : database_(database), run_(run) {}

    StoredRun read() {
        stored_.info = read_info(database_, run_);
        stored_.end = read_end_of(database_, run_);
        modules();
        attempts();
        cases();
        subtests();
        failures();
        device_events();
        kernels();
        findings();
        for (StoredModule& module : stored_.modules) {
            if (!module.attempts.empty()) continue;
            if (stored_.end) module.not_run_reason = stored_.end->not_run_reason;
            module.last_known_cases = read_last_known_cases(database_, stored_.info.suite,
                                                            module.path, stored_.info.started);
        }
        return std::move(stored_);
    }

  private:
    struct Place {  // of a case: vectors still grow while it is looked up
        std::int64_t attempt;
        size_t index;
    };

    Statement rows(std::string_view sql) {
        Statement statement = database_.prepare(sql);
        statement.bind(1, run_);
        return statement;
    }
    JobResult& job(std::int64_t attempt) {
        const auto [module, index] = attempts_.at(attempt);
        return stored_.modules[module].attempts[index];
    }
    CaseRecord& record(std::int64_t result) {
        const Place place = cases_.at(result);
        return job(place.attempt).record.cases[place.index];
    }

    void modules() {
        Statement row = rows("SELECT id, path FROM module WHERE run = ? ORDER BY position, id");
        while (row.step()) {
            modules_.emplace(row.integer(0), stored_.modules.size());
            stored_.modules.emplace_back().path = row.text(1);
        }
    }

    void attempts() {
        Statement row = rows(
            R"sql(
            SELECT attempt.id, module, number, outcome, reason, framework,
                framework_version, python_version, collected, started_ms, duration_s,
                user_s, system_s, max_rss_bytes, log, events, devices, process_end,
                dropped_log_bytes, finished, shim, closing, from_text, kind, forked, only_ids,
                ready, peak_rss_bytes, read_bytes, written_bytes
            FROM attempt
            JOIN module ON module.id = attempt.module
            WHERE module.run = ?
            ORDER BY module, number)sql");
        while (row.step()) {
            const size_t index = modules_.at(row.integer(1));
            StoredModule& module = stored_.modules[index];
            attempts_.emplace(row.integer(0), std::pair(index, module.attempts.size()));
            module.attempts.push_back(read_attempt(row));
            module.attempts.back().record.path = module.path;
        }
    }

    void cases() {
        Statement row = rows(
            R"sql(
            SELECT result.id, attempt, case_id, name, state, phase, reason, duration_s,
                path, line, started, call_state, pseudo
            FROM result
            JOIN test ON test.id = result.test
            LEFT JOIN source_file ON source_file.id = result.file
            WHERE run = ?
            ORDER BY result.id)sql");
        while (row.step()) {
            auto& list = job(row.integer(1)).record.cases;
            cases_.emplace(row.integer(0), Place{row.integer(1), list.size()});
            CaseRecord& found = list.emplace_back();
            found.id = row.text(2);
            found.name = row.text(3);
            found.state = state_column(row, 4);
            found.phase = known(parsers::phase_of(row.text(5)), row.text(5));
            found.reason = row.text(6);
            found.duration_s = row.real(7);
            found.location = {row.text(8), static_cast<int>(row.integer(9))};
            found.started = row.flag(10);
            found.call_state = optional_state(row, 11);
            found.pseudo = row.flag(12);
        }
    }

    void subtests() {
        Statement row = rows(
            R"sql(
            SELECT subtest.id, result, label, subtest.state, subtest.reason
            FROM result
            JOIN subtest ON subtest.result = result.id
            WHERE run = ?
            ORDER BY subtest.id)sql");
        while (row.step()) {
            auto& list = record(row.integer(1)).subcases;
            subtests_.emplace(row.integer(0), list.size());
            auto& found = list.emplace_back();
            found.label = row.text(2);
            found.state = state_column(row, 3);
            found.reason = row.text(4);
        }
    }

    void failures() {
        Statement row = rows(
            R"sql(
            SELECT failure.result, subtest, also, type, message, failure.phase, counted,
                traceback, frames
            FROM result
            JOIN failure ON failure.result = result.id
            WHERE run = ?
            ORDER BY failure.id)sql");
        while (row.step()) {
            CaseRecord& test = record(row.integer(0));
            Failure failure = read_failure(row, 3);
            if (const auto subtest = row.optional_integer(1))
                test.subcases[subtests_.at(*subtest)].failure = std::move(failure);
            else if (row.flag(2))
                test.also.push_back(std::move(failure));
            else
                test.failure = std::move(failure);
        }
    }

    void device_events() {
        Statement row = rows(
            R"sql(
            SELECT attempt.id, case_id, site.kind, op, asked, given, file, line, count
            FROM module
            JOIN attempt ON attempt.module = module.id
            JOIN device_event ON device_event.attempt = attempt.id
            JOIN site ON site.id = device_event.site
            LEFT JOIN test ON test.id = device_event.test
            WHERE module.run = ?
            ORDER BY device_event.id)sql");
        while (row.step())
            job(row.integer(0))
                .record.device_events.push_back({row.text(1),
                                                 row.text(2),
                                                 row.text(3),
                                                 row.text(4),
                                                 row.text(5),
                                                 {row.text(6), static_cast<int>(row.integer(7))},
                                                 row.integer(8)});
    }

    void kernels() {
        Statement row = rows(
            R"sql(
            SELECT attempt.id, case_id, device, count
            FROM module
            JOIN attempt ON attempt.module = module.id
            JOIN kernel_count ON kernel_count.attempt = attempt.id
            LEFT JOIN test ON test.id = kernel_count.test
            WHERE module.run = ?
            ORDER BY kernel_count.id)sql");
        while (row.step())
            job(row.integer(0))
                .record.kernels.push_back({row.text(1), row.text(2), row.integer(3)});
    }

    void findings() {
        Statement diagnostic = rows(
            R"sql(
            SELECT attempt.id, file, byte_offset, message
            FROM module
            JOIN attempt ON attempt.module = module.id
            JOIN diagnostic ON diagnostic.attempt = attempt.id
            WHERE run = ?
            ORDER BY diagnostic.id)sql");
        while (diagnostic.step())
            job(diagnostic.integer(0))
                .record.diagnostics.push_back(
                    {diagnostic.text(1), diagnostic.integer(2), diagnostic.text(3)});
        Statement leaked = rows(
            R"sql(
            SELECT attempt.id, pid, argv, killed
            FROM module
            JOIN attempt ON attempt.module = module.id
            JOIN leaked_process ON leaked_process.attempt = attempt.id
            WHERE run = ?
            ORDER BY leaked_process.id)sql");
        while (leaked.step())
            job(leaked.integer(0))
                .leaked.push_back({leaked.integer(1),
                                   json_column(leaked, 2).get<std::vector<std::string>>(),
                                   leaked.flag(3)});
    }

    Database& database_;
    std::int64_t run_;
    StoredRun stored_;
    std::unordered_map<std::int64_t, size_t> modules_;
    std::unordered_map<std::int64_t, std::pair<size_t, size_t>> attempts_;
    std::unordered_map<std::int64_t, Place> cases_;
    std::unordered_map<std::int64_t, size_t> subtests_;  // place in its test's list
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
            JOIN module ON module.suite = suite.id
            JOIN run ON run.id = module.run
            JOIN attempt ON attempt.module = module.id
            WHERE suite.name = ?1 AND module.path = ?2 AND attempt.outcome = 'completed'
                AND (?3 IS NULL OR run.started_ms < ?3)
            ORDER BY run.started_ms DESC, attempt.number LIMIT 1)sql");
    std::optional<std::int64_t> latest;
    if (before) latest = before->time_since_epoch().count();
    row.bind_all(suite, module, latest);
    if (!row.step()) return std::nullopt;
    return row.integer(0);
}

StoredRun read_run(Database& database, std::int64_t run) { return RunReader(database, run).read(); }

}  // namespace compat::store
