#include "runner/store/writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <type_traits>
#include <unordered_map>

#include "runner/analysis/attempts.h"
#include "runner/analysis/comparison.h"
#include "runner/analysis/marks.h"
#include "runner/base/run/run_fields.h"
#include "runner/store/attempt_fields.h"
#include "runner/store/json_column.h"
#include "runner/store/query.h"

namespace compat::store {

namespace {

using nlohmann::json;
using parsers::CaseRecord;
using parsers::Failure;

std::int64_t ms(WallTime time) { return time.time_since_epoch().count(); }

std::optional<std::string_view> word_of(std::optional<parsers::State> state) {
    if (!state) return std::nullopt;
    return name_of(*state);
}

void bind_field(Statement& to, int index, const std::string& value) { to.bind(index, value); }
void bind_field(Statement& to, int index, WallTime value) { to.bind(index, ms(value)); }
void bind_field(Statement& to, int index, const std::vector<std::string>& value) {
    to.bind(index, to_column(value));
}
template <class T>
void bind_field(Statement& to, int index, const std::optional<T>& value) {
    to.bind(index, value ? std::optional(to_column(*value)) : std::nullopt);
}
template <class T>
void bind_field(Statement& to, int index, const T& value) {
    if constexpr (std::is_enum_v<T>)
        to.bind(index, name_of(value));
    else
        to.bind(index, value);
}

// Finds or inserts a row by its unique values and returns its id. Both statements take the same
// values in the same order.
class Interned {
  public:
    Interned(Database& database, std::string_view find, std::string_view add)
        : database_(database), find_(database.prepare(find)), add_(database.prepare(add)) {}

    template <class... Values>
    std::int64_t id(const Values&... values) {
        find_.bind_all(values...);
        if (find_.step()) {
            const auto found = find_.integer();
            find_.reset();
            return found;
        }
        find_.reset();
        add_.run(values...);
        return database_.last_row_id();
    }

  private:
    Database& database_;
    Statement find_;
    Statement add_;
};

Interned suites(Database& database) {
    return {database, "SELECT id FROM suite WHERE name = ?", "INSERT INTO suite (name) VALUES (?)"};
}

std::int64_t suite_of(Database& database, std::int64_t run) {
    Statement statement = database.prepare("SELECT suite FROM run WHERE id = ?");
    statement.bind(1, run);
    statement.step();
    return statement.integer();
}

// Writes one job's rows; lives as long as its transaction.
class JobWriter {
  public:
    JobWriter(Database& database, std::int64_t run)
        : database_(database),
          run_(run),
          suite_(suite_of(database, run)),
          tests_(database, "SELECT id FROM test WHERE case_id = ? AND suite = ? AND name = ?",
                 "INSERT INTO test (case_id, suite, name) VALUES (?, ?, ?)"),
          files_(database, "SELECT id FROM source_file WHERE path = ?",
                 "INSERT INTO source_file (path) VALUES (?)"),
          sites_(database,
                 R"sql(
            SELECT id
            FROM site
            WHERE file = ? AND line = ? AND op = ? AND kind = ? AND asked = ? AND given =
                ?)sql",
                 "INSERT INTO site (file, line, op, kind, asked, given) VALUES (?, ?, ?, ?, ?, ?)"),
          texts_(database, "SELECT id FROM text WHERE hash = ? AND content = ?",
                 "INSERT INTO text (hash, content) VALUES (?, ?)"),
          result_(database.prepare(R"sql(
            INSERT INTO result (run, attempt, test, verdict, flaky, used_accelerator, state,
                phase, reason, duration_s, file, line, started, call_state, pseudo, started_ms,
                tests, generated, generated_count, missing, missing_count)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))sql")),
          overrule_(database.prepare(
              "UPDATE result SET verdict = 0, flaky = 0 WHERE test = ? AND run = ?")),
          earlier_(
              database.prepare(R"sql(
            SELECT state, forked
            FROM result
            JOIN attempt ON attempt.id = result.attempt AND kind <> 'diagnostic'
            WHERE test = ? AND run = ?)sql"),
              [](analysis::ResultInAttempt& row, auto column) { COLUMNS(row, state, forked); }),
          known_(
              database.prepare("SELECT 1 FROM result WHERE test = ? AND run = ? AND verdict = 1")),
          reached_(database.prepare(
              "SELECT 1 FROM result WHERE test = ? AND run = ? AND state <> 'not_run'")),
          subtest_(database.prepare(
              "INSERT INTO subtest (result, label, state, reason) VALUES (?, ?, ?, ?)")),
          failure_(database.prepare(
              R"sql(
            INSERT INTO failure (result, subtest, also, type, message, key_line, phase,
                counted, traceback, frames, signature, cause, error_class, confidence, rule)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?))sql")) {}

    void write(const JobResult& job) {
        const std::int64_t module = add_module(job.record.path);
        if (job.attempt > 1 && job.kind != AttemptKind::diagnostic) {
            database_.run(R"sql(
            UPDATE result SET verdict = 0, flaky = 0
            WHERE pseudo = 1 AND (?1 OR state = 'not_run')
                AND attempt IN (SELECT id FROM attempt WHERE module = ?2))sql",
                          job.kind == AttemptKind::whole, module);
        }
        attempt_ = add_attempt(module, job);
        const std::vector<bool> used = analysis::used_accelerator(job.record);
        for (size_t i = 0; i < job.record.cases.size(); ++i) {
            const CaseRecord& record = job.record.cases[i];
            const auto test = tests_.id(record.id, suite_, record.name);
            cases_.emplace(record.id, test);
            Decisions decided{decides(job, record, test), false, used[i]};
            if (decided.verdict && job.attempt > 1) {
                decided.flaky = is_flaky(job, record, test);
                overrule_.run(test, run_);
            }
            add_case(record, test, decided);
        }
        add_device_events(job.record);
        add_findings(job);
        count_verdicts(module);
    }

  private:
    // A module that was not planned gets a row at the end.
    std::int64_t add_module(const std::string& path) {
        Statement find = database_.prepare("SELECT id FROM module WHERE run = ? AND path = ?");
        find.bind_all(run_, path);
        if (!find.step()) {
            write_plan(database_, run_, {path});
            return database_.last_row_id();
        }
        return find.integer();
    }

    std::int64_t add_attempt(std::int64_t module, const JobResult& job) {
        std::vector<std::string> columns{"module"};
        attempt_fields(job, [&](const char* column, const char*, const auto&) {
            if (column) columns.emplace_back(column);
        });
        Statement add = database_.prepare(
            fmt::format("INSERT INTO attempt ({}) VALUES ({})", fmt::join(columns, ", "),
                        fmt::join(std::vector<const char*>(columns.size(), "?"), ", ")));
        int index = 1;
        add.bind(index, module);
        attempt_fields(job, [&](const char* column, const char*, const auto& value) {
            if (column) bind_field(add, ++index, value);
        });
        add.run();
        return database_.last_row_id();
    }

    bool any(Statement& of, std::int64_t test) {
        of.bind_all(test, run_);
        const bool found = of.step();
        of.reset();
        return found;
    }

    bool decides(const JobResult& job, const CaseRecord& record, std::int64_t test) {
        if (job.kind == AttemptKind::diagnostic) return false;
        if (job.attempt == 1) return true;
        if (record.state == parsers::State::not_run) return !any(reached_, test);
        return !(record.pseudo && repeats_some_tests(job.kind)) || any(known_, test);
    }

    // A verdict of the job, seen beside the test's earlier results.
    bool is_flaky(const JobResult& job, const CaseRecord& record, std::int64_t test) {
        std::vector<analysis::ResultInAttempt> results{{record.state, job.record.forked, true}};
        earlier_.bind(test, run_).each([&](const auto& earlier) { results.push_back(earlier); });
        return analysis::stability_of(results).flaky;
    }

    // As the columns of `result`.
    struct Decisions {
        bool verdict = false, flaky = false, used_accelerator = false;
    };

    static std::optional<std::string> names_column(const parsers::HubNames& names) {
        return names.any() ? std::optional(to_column(names.names)) : std::nullopt;
    }

    void add_case(const CaseRecord& record, std::int64_t test, const Decisions& decided) {
        const auto& file = record.location.file;
        result_.run(run_, attempt_, test, decided.verdict, decided.flaky, decided.used_accelerator,
                    name_of(record.state), name_of(record.phase), record.reason, record.duration_s,
                    file.empty() ? std::nullopt : std::optional(file_id(file)),
                    record.location.line, record.started, word_of(record.call_state), record.pseudo,
                    record.started_ms, record.tests,
                    names_column(record.generated), record.generated.count,
                    names_column(record.missing), record.missing.count);
        const auto result = database_.last_row_id();
        if (record.failure) add_failure(*record.failure, result, std::nullopt, false);
        for (const Failure& failure : record.also) add_failure(failure, result, std::nullopt, true);
        for (const parsers::SubCase& sub : record.subcases) {
            subtest_.run(result, sub.label, name_of(sub.state), sub.reason);
            if (sub.failure) add_failure(*sub.failure, result, database_.last_row_id(), false);
        }
    }

    void add_failure(const Failure& failure, std::int64_t result,
                     std::optional<std::int64_t> subtest, bool also) {
        json frames = json::array();
        for (const parsers::Frame& frame : failure.frames)
            frames.push_back(json::array({frame.file, frame.line, frame.function}));
        const auto& why = failure.diagnosis;
        const auto word = [&](auto name) {
            return why ? std::optional<std::string_view>(name(*why)) : std::nullopt;
        };
        failure_.bind_all(
            result, subtest, also, failure.type, text_id(failure.message), failure.key_line(),
            name_of(failure.phase), word_of(failure.counted), text_id(failure.traceback),
            text_id(to_column(frames)),
            failure.signature.empty() ? std::nullopt : std::optional(failure.signature),
            word([](const auto& d) { return name_of(d.cause); }),
            why && why->error_class ? std::optional(name_of(*why->error_class)) : std::nullopt,
            word([](const auto& d) { return name_of(d.confidence); }),
            word([](const auto& d) { return std::string_view(d.rule); }));
        failure_.run();
    }

    void add_device_events(const parsers::ModuleRecord& record) {
        Statement event_row = database_.prepare(
            "INSERT INTO device_event (attempt, test, site, count, message) "
            "VALUES (?, ?, ?, ?, ?)");
        for (const parsers::DeviceEvent& event : record.device_events) {
            const auto site = sites_.id(event.location.file, event.location.line, event.op,
                                        event.kind, event.from, event.to);
            event_row.run(attempt_, test_id(event.test), site, event.count, event.message);
        }
        Statement kernel_row = database_.prepare(
            "INSERT INTO kernel_count (attempt, test, device, count) VALUES (?, ?, ?, ?)");
        for (const parsers::KernelCount& kernels : record.kernels)
            kernel_row.run(attempt_, test_id(kernels.test), kernels.device, kernels.count);
        add_collectives(record);
    }

    void add_collectives(const parsers::ModuleRecord& record) {
        Statement calls_row = database_.prepare(R"sql(
            INSERT INTO collective (attempt, test, op, "group", ranks, file, line, count, bytes)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?))sql");
        for (const parsers::CollectiveCalls& calls : record.collectives)
            calls_row.run(attempt_, test_id(calls.test), calls.op, calls.group, calls.ranks,
                          calls.location.file, calls.location.line, calls.count, calls.bytes);
        Statement steps_row = database_.prepare(
            "INSERT INTO optimizer_step (attempt, test, ranks, count) VALUES (?, ?, ?, ?)");
        for (const parsers::OptimizerSteps& steps : record.optimizer_steps)
            steps_row.run(attempt_, test_id(steps.test), steps.ranks, steps.count);
    }

    // Null outside any test. An id that was never
    // collected has no name of the framework.
    std::optional<std::int64_t> test_id(const std::string& id) {
        if (id.empty()) return std::nullopt;
        const auto known = cases_.find(id);
        return known != cases_.end() ? known->second : tests_.id(id, suite_, "");
    }

    void add_findings(const JobResult& job) {
        Statement diagnostic = database_.prepare(
            "INSERT INTO diagnostic (attempt, file, byte_offset, message) VALUES (?, ?, ?, ?)");
        for (const parsers::Diagnostic& found : job.record.diagnostics)
            diagnostic.run(attempt_, found.file, found.offset, found.message);
        Statement leaked = database_.prepare(
            "INSERT INTO leaked_process (attempt, pid, argv, killed) VALUES (?, ?, ?, ?)");
        for (const LeakedProcess& process : job.leaked)
            leaked.run(attempt_, process.pid, to_column(process.argv), process.killed);
    }

    // Triggers update those of the run.
    void count_verdicts(std::int64_t module) {
        const auto in_state = [](std::string_view condition) {
            return fmt::format("coalesce(sum(tests) FILTER (WHERE {}), 0)", condition);
        };
        std::vector<std::string> counts;
        for (const auto state : parsers::kStateNames)
            counts.push_back(in_state(fmt::format("state = '{}'", state)));
        for (const auto kind : {analysis::StateKind::good, analysis::StateKind::broken})
            counts.push_back(
                in_state(fmt::format("used_accelerator AND state IN ({})", states_of(kind))));
        database_.run(fmt::format(
                          R"sql(
            UPDATE module SET ({}, exercised_good, exercised_broken) = (
                SELECT {}
                FROM attempt
                JOIN result ON result.attempt = attempt.id
                WHERE attempt.module = ?1 AND verdict = 1)
            WHERE id = ?1)sql",
                          fmt::join(parsers::kStateNames, ", "), fmt::join(counts, ", ")),
                      module);
    }

    // "'passed', 'xfailed', 'xpassed'"
    static std::string states_of(analysis::StateKind kind) {
        std::vector<std::string> states;
        for (const auto name : parsers::kStateNames)
            if (analysis::kind_of(*parsers::state_of(name)) == kind)
                states.push_back(fmt::format("'{}'", name));
        return fmt::format("{}", fmt::join(states, ", "));
    }

    std::int64_t text_id(const std::string& text) { return texts_.id(text_hash(text), text); }

    // Tests of a module mostly come from one file.
    std::int64_t file_id(const std::string& path) {
        if (path != last_file_) {
            last_file_id_ = files_.id(path);
            last_file_ = path;
        }
        return last_file_id_;
    }

    Database& database_;
    std::int64_t run_;
    std::int64_t suite_;
    std::int64_t attempt_ = 0;
    Interned tests_;
    Interned files_;
    Interned sites_;
    Interned texts_;
    Statement result_;
    Statement overrule_;
    Query<analysis::ResultInAttempt> earlier_;
    Statement known_;
    Statement reached_;
    Statement subtest_;
    Statement failure_;
    std::unordered_map<std::string_view, std::int64_t> cases_;  // of this job, by id
    std::string last_file_;
    std::int64_t last_file_id_ = 0;
};

}  // namespace

void write_run(Database& database, const RunInfo& info) {
    std::vector<std::string> columns;
    run_fields(info, [&](const RunField& field, const auto&) {
        columns.push_back(fmt::format("\"{}\"", field.column));
    });
    columns.emplace_back("gives_verdicts");
    Statement add = database.prepare(
        fmt::format("INSERT INTO run ({}) VALUES ({})", fmt::join(columns, ", "),
                    fmt::join(std::vector<std::string>(columns.size(), "?"), ", ")));
    const std::int64_t suite = suites(database).id(info.suite);
    int place = 0;
    run_fields(info, [&](const RunField& field, const auto& value) {
        using T = std::remove_cvref_t<decltype(value)>;
        ++place;
        if (field.key == "suite")
            add.bind(place, suite);
        else if (field.key == "expectations" && info.expectations.empty())
            add.bind(place, "[]");
        else if constexpr (std::is_same_v<T, WallTime>)
            add.bind(place, ms(value));
        else if constexpr (requires { add.bind(place, value); })
            add.bind(place, value);
        else
            add.bind(place, to_column(value));
    });
    add.bind(++place, info.gives_verdicts());
    add.run();
}

void write_plan(Database& database, std::int64_t run, const std::vector<std::string>& paths) {
    // The number of modules so far is kept by a trigger: to look for the last one would make large
    // plans quadratic.
    Statement add = database.prepare(
        R"sql(
            INSERT INTO module (run, suite, path, position, run_started_ms, sharded)
            SELECT id, suite, ?2, modules, started_ms, shard <> ''
            FROM run
            WHERE id = ?1
            ON CONFLICT (run, path) DO NOTHING)sql");
    for (const std::string& path : paths) add.run(run, path);
}

void write_not_run_reason(Database& database, std::int64_t run, std::string_view module,
                          std::string_view reason) {
    database.run(R"sql(
            UPDATE module SET not_run_reason = ?3
            WHERE run = ?1 AND path = ?2
                AND ?3 IS NOT (SELECT not_run_reason FROM run WHERE id = ?1))sql",
                 run, module, reason);
}

void write_framework(Database& database, std::int64_t run, std::string_view framework) {
    database.run("UPDATE run SET framework = ? WHERE id = ?", framework, run);
}

void write_end(Database& database, std::int64_t run, const RunEnd& end) {
    database.run(R"sql(
            UPDATE run SET finished_ms = ?, duration_s = ?, complete = ?, exit_code = ?,
                accounting_closed = ?, not_run_reason = ?, writes = ?,
                hub_use = ?
            WHERE id = ?)sql",
                 ms(end.finished), end.duration_s, end.complete, end.exit_code,
                 end.accounting_closed, end.not_run_reason, to_column(end.writes),
                 end.hub ? std::optional(to_column(*end.hub)) : std::nullopt, run);
    database.run("DELETE FROM mismatch WHERE run = ?", run);
    Statement add =
        database.prepare("INSERT INTO mismatch (run, module, message) VALUES (?, ?, ?)");
    for (const StoredMismatch& mismatch : end.mismatches)
        add.run(run, mismatch.module, mismatch.message);
}

void erase_end(Database& database, std::int64_t run) {
    database.run(R"sql(
            UPDATE run SET finished_ms = NULL, duration_s = NULL, complete = NULL,
                exit_code = NULL, accounting_closed = NULL, not_run_reason = NULL
            WHERE id = ?)sql",
                 run);
}

void erase_run(Database& database, std::int64_t run) {
    database.run("DELETE FROM run WHERE id = ?", run);
}

void erase_modules(Database& database, std::int64_t run) {
    database.run("DELETE FROM module WHERE run = ?", run);
}

void write_job(Database& database, std::int64_t run, const JobResult& job) {
    JobWriter(database, run).write(job);
}

}  // namespace compat::store
