#include "runner/store/reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <tuple>
#include <unordered_map>

#include "runner/base/files/run_folder_name.h"
#include "runner/base/run/run_fields.h"
#include "runner/store/attempt_fields.h"
#include "runner/store/json_column.h"

namespace compat::store {

namespace {

using parsers::CaseRecord;
using parsers::Failure;

template <class T>
T known(std::optional<T> value, const std::string& word) {
    if (!value) throw SqlError(SQLITE_CORRUPT, fmt::format("unknown word '{}'", word));
    return *value;
}

// Place of a row's parent.
size_t place(const std::unordered_map<std::int64_t, size_t>& places, std::int64_t parent) {
    const auto at = places.find(parent);
    if (at == places.end()) throw SqlError(SQLITE_CORRUPT, "a row has lost its parent");
    return at->second;
}

std::optional<parsers::State> optional_state(const Statement& row, int column) {
    if (row.is_null(column)) return std::nullopt;
    return state_column(row, column);
}

std::optional<RunEnd> read_end_of(Database& database, std::int64_t run) {
    Statement row =
        database.prepare(fmt::format("SELECT {}, writes FROM run WHERE id = ?", kRunEndColumns));
    row.bind(1, run);
    row.step();
    auto end = read_end(row, 0);
    if (!end) return end;
    end->writes = from_column<decltype(end->writes)>(row.text(6), "run.writes", run);
    Statement rows =
        database.prepare("SELECT module, message FROM mismatch WHERE run = ? ORDER BY id");
    rows.bind(1, run);
    while (rows.step()) end->mismatches.push_back({rows.text(0), rows.text(1)});
    return end;
}

// Reads a row's columns in order.
struct Columns {
    const Statement& row;
    std::int64_t id;
    int next = 0;

    void read(std::string_view, std::string& into) { into = row.text(next); }
    void read(std::string_view, std::int64_t& into) { into = row.integer(next); }
    void read(std::string_view, int& into) { into = static_cast<int>(row.integer(next)); }
    void read(std::string_view, double& into) { into = row.real(next); }
    void read(std::string_view, bool& into) { into = row.flag(next); }
    void read(std::string_view, WallTime& into) { into = wall_time(row.integer(next)); }
    void read(std::string_view what, AttemptKind& into) { word(what, kAttemptKindNames, into); }
    void read(std::string_view what, parsers::ModuleOutcome& into) {
        word(what, parsers::kModuleOutcomeNames, into);
    }
    void read(std::string_view, std::optional<std::string>& into) {
        into = row.optional_text(next);
    }
    template <class T>
    void read(std::string_view what, std::vector<T>& into) {
        into = from_column<std::vector<T>>(row.text(next), what, id);
    }
    template <class T>
    void read(std::string_view what, std::optional<T>& into) {
        if (!row.is_null(next)) into = from_column<T>(row.text(next), what, id);
    }
    template <class Enum, size_t N>
    void word(std::string_view what, const std::array<std::string_view, N>& names, Enum& into) {
        into = undamaged(what, id, [&] { return enum_named<Enum>(names, row.text(next)); });
    }
};

std::string attempt_columns() {
    JobResult job;
    std::string columns = "id";
    attempt_fields(job, [&](const char* column, const char*, const auto&) {
        if (column) columns += std::string(", ") + column;
    });
    return columns;
}

JobResult read_attempt(const Statement& row) {
    JobResult job;
    Columns columns{row, row.integer(0)};
    attempt_fields(job, [&](const char* column, const char*, auto& value) {
        if (!column) return;
        ++columns.next;
        columns.read(fmt::format("attempt.{}", column), value);
    });
    if (job.ended) job.ended->peak_rss_bytes = static_cast<std::uint64_t>(job.peak_rss_bytes);
    return job;
}

Failure read_failure(const Statement& row, int first) {
    Failure failure;
    failure.type = row.text(first);
    failure.message = row.text(first + 1);
    failure.phase = known(parsers::phase_of(row.text(first + 2)), row.text(first + 2));
    failure.counted = optional_state(row, first + 3);
    failure.traceback = row.text(first + 4);
    using Frames = std::vector<std::tuple<std::string, int, std::string>>;
    for (auto& [file, line, function] :
         from_column<Frames>(row.text(first + 5), "failure.frames", row.integer(0)))
        failure.frames.push_back({std::move(file), line, std::move(function)});
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

// Reads a module's attempts table by table, in the order of writing, so that each row's parent is
// read before it. Its statements are used again for the next module.
class ModuleReader {
  public:
    explicit ModuleReader(Database& database)
        : attempts_(database.prepare(fmt::format(
              "SELECT {} FROM attempt WHERE module = ? ORDER BY number", attempt_columns()))),
          cases_(database.prepare(R"sql(
            SELECT result.id, case_id, name, state, phase, reason, duration_s,
                path, line, started, call_state, pseudo, started_ms
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
            SELECT failure.id, failure.result, subtest, also, type, messages.content,
                failure.phase, counted, tracebacks.content, frame_texts.content, signature, cause,
                error_class, confidence, rule, key_line
            FROM result
            JOIN failure ON failure.result = result.id
            JOIN text AS messages ON messages.id = failure.message
            JOIN text AS tracebacks ON tracebacks.id = failure.traceback
            JOIN text AS frame_texts ON frame_texts.id = failure.frames
            WHERE attempt = ?
            ORDER BY failure.id)sql")),
          device_events_(database.prepare(R"sql(
            SELECT case_id, site.kind, op, asked, given, file, line, count, message
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
          collectives_(database.prepare(R"sql(
            SELECT case_id, op, "group", ranks, file, line, count, bytes
            FROM collective
            LEFT JOIN test ON test.id = collective.test
            WHERE attempt = ?
            ORDER BY collective.id)sql")),
          optimizer_steps_(database.prepare(R"sql(
            SELECT case_id, ranks, count
            FROM optimizer_step
            LEFT JOIN test ON test.id = optimizer_step.test
            WHERE attempt = ?
            ORDER BY optimizer_step.id)sql")),
          diagnostics_(database.prepare(R"sql(
            SELECT file, byte_offset, message
            FROM diagnostic
            WHERE attempt = ?
            ORDER BY id)sql")),
          leaked_(database.prepare(R"sql(
            SELECT id, pid, argv, killed
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
            found.started_ms = row.optional_integer(12);
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
            CaseRecord& test = into[place(places, row.integer(1))];
            Failure failure = read_failure(row, 4);
            if (const auto subtest = row.optional_integer(2))
                test.subcases[place(places_in_tests, *subtest)].failure = std::move(failure);
            else if (row.flag(3))
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
                                          row.integer(7),
                                          row.text(8)});
        });
        each(kernels_, attempt, [&](const Statement& row) {
            into.kernels.push_back({row.text(0), row.text(1), row.integer(2)});
        });
        each(collectives_, attempt, [&](const Statement& row) {
            into.collectives.push_back({row.text(0),
                                        row.text(1),
                                        row.text(2),
                                        row.integer(3),
                                        {row.text(4), static_cast<int>(row.integer(5))},
                                        row.integer(6),
                                        row.integer(7)});
        });
        each(optimizer_steps_, attempt, [&](const Statement& row) {
            into.optimizer_steps.push_back({row.text(0), row.integer(1), row.integer(2)});
        });
    }

    void findings(std::int64_t attempt, JobResult& into) {
        each(diagnostics_, attempt, [&](const Statement& row) {
            into.record.diagnostics.push_back({row.text(0), row.integer(1), row.text(2)});
        });
        each(leaked_, attempt, [&](const Statement& row) {
            into.leaked.push_back({row.integer(1),
                                   from_column<std::vector<std::string>>(
                                       row.text(2), "leaked_process.argv", row.integer(0)),
                                   row.flag(3)});
        });
    }

    Statement attempts_;
    Statement cases_;
    Statement subtests_;
    Statement failures_;
    Statement device_events_;
    Statement kernels_;
    Statement collectives_;
    Statement optimizer_steps_;
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

std::string run_columns(RunFields which) {
    std::vector<std::string> columns{"run.id"};
    const RunInfo any;
    run_fields(any, [&](const RunField& field, const auto&) {
        if (field.key == "suite")
            columns.emplace_back("suite.name");
        else if (which == RunFields::all || field.listed)
            columns.push_back(fmt::format("run.\"{}\"", field.column));
    });
    return fmt::format("{}", fmt::join(columns, ", "));
}

int read_run_fields(const Statement& row, RunFields which, RunInfo& into) {
    Columns columns{row, row.integer(0), 1};
    run_fields(into, [&](const RunField& field, auto& value) {
        if (which == RunFields::of_lists && !field.listed) return;
        columns.read(fmt::format("run.{}", field.column), value);
        ++columns.next;
    });
    into.folder = run_folder_name(into.id);  // the column may be a stranger's
    if (into.expectations == "[]") into.expectations.clear();
    return columns.next;
}

StoredRun read_run(Database& database, std::int64_t run) {
    Statement row = database.prepare(
        fmt::format("SELECT {} FROM run JOIN suite ON suite.id = run.suite WHERE run.id = ?",
                    run_columns(RunFields::all)));
    row.bind(1, run);
    row.step();
    StoredRun stored;
    read_run_fields(row, RunFields::all, stored.info);
    stored.end = read_end_of(database, run);
    stored.duration_s = stored.end ? stored.end->duration_s : duration_so_far(database, run);
    return stored;
}

Expected<void> read_modules(Database& database, std::int64_t run, std::string_view only,
                            const ModuleVisitor& see) {
    const StoredRun whole = read_run(database, run);
    struct Planned {
        std::int64_t id;
        std::string path, not_run_reason;
    };
    std::vector<Planned> planned;
    Statement row = database.prepare(
        "SELECT id, path, not_run_reason FROM module WHERE run = ?1 AND (?2 = '' OR path = ?2) "
        "ORDER BY position, id");
    row.bind_all(run, only);
    while (row.step()) planned.push_back({row.integer(0), row.text(1), row.text(2)});
    row.reset();
    ModuleReader reader(database);
    for (const auto& [id, path, not_run_reason] : planned) {
        StoredModule module{path, {}, {}, {}};
        for (JobResult& job : reader.attempts(id, path)) module.add(std::move(job));
        if (module.attempts.empty()) {
            module.not_run_reason = not_run_reason;
            if (not_run_reason.empty() && whole.end)
                module.not_run_reason = whole.end->not_run_reason;
            module.last_known_cases =
                read_last_known_cases(database, whole.info.suite, path, whole.info.started);
        }
        if (auto seen = see(std::move(module)); !seen) return seen;
    }
    return {};
}

}  // namespace compat::store
