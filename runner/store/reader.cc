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
#include "runner/store/query.h"

namespace compat::store {

namespace {

using parsers::CaseRecord;
using parsers::Failure;

// Place of a row's parent.
size_t place(const std::unordered_map<std::int64_t, size_t>& places, std::int64_t parent) {
    const auto at = places.find(parent);
    if (at == places.end()) throw SqlError(SQLITE_CORRUPT, "a row has lost its parent");
    return at->second;
}

struct AttemptRow {
    std::int64_t id = 0;
    JobResult job;
};
struct CaseRow {
    std::int64_t id = 0;
    CaseRecord test;
    std::optional<std::vector<std::string>> generated, missing;
};
struct SubtestRow {
    std::int64_t id = 0, result = 0;
    parsers::SubCase subtest;
};
struct FailureOfResult {
    std::int64_t result = 0;
    std::optional<std::int64_t> subtest;
    bool also = false;
    Failure failure;
    std::vector<std::tuple<std::string, int, std::string>> frames;
    std::optional<parsers::Cause> cause;
    std::optional<parsers::Confidence> confidence;
    parsers::Diagnosis why;
};

const auto kAttempt = [](AttemptRow& row, auto column) {
    column("id", row.id);
    attempt_fields(row.job, [&](const char* name, const char*, auto& value) {
        if (name) column(name, value);
    });
};
const auto kCase = [](CaseRow& row, auto column) {
    CaseRecord& test = row.test;
    COLUMNS(test, name, state, phase, reason, duration_s, started, call_state, pseudo, tests,
            started_ms);
    column("case_id", test.id);
    column("path", test.location.file);
    column("generated", row.generated);
    column("generated_count", test.generated.count);
    column("missing", row.missing);
    column("missing_count", test.missing.count);
    column("id", row.id);
    column("line", test.location.line);
};
const auto kSubtest = [](SubtestRow& row, auto column) {
    COLUMNS(row, id, result);
    COLUMNS(row.subtest, label, state, reason);
};
const auto kFailure = [](FailureOfResult& row, auto column) {
    COLUMNS(row, result, subtest, also, frames, cause, confidence);
    COLUMNS(row.failure, type, message, phase, counted, traceback, signature);
    COLUMNS(row.why, error_class, rule, key_line);
};
const auto kDeviceEvent = [](parsers::DeviceEvent& event, auto column) {
    COLUMNS(event, kind, op, count, message);
    COLUMNS(event.location, file, line);
    column("case_id", event.test);
    column("asked", event.from);
    column("given", event.to);
};
const auto kKernels = [](parsers::KernelCount& kernels, auto column) {
    COLUMNS(kernels, device, count);
    column("case_id", kernels.test);
};
const auto kCollective = [](parsers::CollectiveCalls& calls, auto column) {
    COLUMNS(calls, op, group, ranks, count, bytes);
    COLUMNS(calls.location, file, line);
    column("case_id", calls.test);
};
const auto kOptimizerSteps = [](parsers::OptimizerSteps& steps, auto column) {
    COLUMNS(steps, ranks, count);
    column("case_id", steps.test);
};
const auto kDiagnostic = [](parsers::Diagnostic& diagnostic, auto column) {
    COLUMNS(diagnostic, file, message);
    column("byte_offset", diagnostic.offset);
};
const auto kLeaked = [](LeakedProcess& process, auto column) {
    COLUMNS(process, pid, argv, killed);
};

std::string attempt_columns() {
    JobResult job;
    std::string columns = "id";
    attempt_fields(job, [&](const char* column, const char*, const auto&) {
        if (column) columns += std::string(", ") + column;
    });
    return columns;
}

// Takes it out of the row.
Failure failure_of(FailureOfResult& row) {
    Failure failure = std::move(row.failure);
    for (auto& [file, line, function] : row.frames)
        failure.frames.push_back({std::move(file), line, std::move(function)});
    if (!row.cause) return failure;
    row.why.cause = *row.cause;
    row.why.confidence = row.confidence.value_or(parsers::Confidence::low);
    failure.diagnosis = std::move(row.why);
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
    return row.real();
}

// Reads a module's attempts table by table, in the order of writing, so that each row's parent is
// read before it. Its statements are used again for the next module.
class ModuleReader {
  public:
    explicit ModuleReader(Database& database)
        : attempts_(
              database.prepare(fmt::format(
                  "SELECT {} FROM attempt WHERE module = ? ORDER BY number", attempt_columns())),
              kAttempt, "attempt"),
          cases_(database.prepare(R"sql(
            SELECT result.id, case_id, name, state, phase, reason, duration_s,
                path, line, started, call_state, pseudo, started_ms, tests,
                generated, generated_count, missing, missing_count
            FROM result
            JOIN test ON test.id = result.test
            LEFT JOIN source_file ON source_file.id = result.file
            WHERE attempt = ?
            ORDER BY result.id)sql"),
                 kCase, "result"),
          subtests_(database.prepare(R"sql(
            SELECT subtest.id, result, label, subtest.state, subtest.reason
            FROM result
            JOIN subtest ON subtest.result = result.id
            WHERE attempt = ?
            ORDER BY subtest.id)sql"),
                    kSubtest, "subtest"),
          failures_(database.prepare(R"sql(
            SELECT failure.id, failure.result, subtest, also, type, messages.content AS message,
                failure.phase, counted, tracebacks.content AS traceback,
                frame_texts.content AS frames, signature, cause, error_class, confidence, rule,
                key_line
            FROM result
            JOIN failure ON failure.result = result.id
            JOIN text AS messages ON messages.id = failure.message
            JOIN text AS tracebacks ON tracebacks.id = failure.traceback
            JOIN text AS frame_texts ON frame_texts.id = failure.frames
            WHERE attempt = ?
            ORDER BY failure.id)sql"),
                    kFailure, "failure"),
          device_events_(database.prepare(R"sql(
            SELECT case_id, site.kind, op, asked, given, file, line, count, message
            FROM device_event
            JOIN site ON site.id = device_event.site
            LEFT JOIN test ON test.id = device_event.test
            WHERE attempt = ?
            ORDER BY device_event.id)sql"),
                         kDeviceEvent),
          kernels_(database.prepare(R"sql(
            SELECT case_id, device, count
            FROM kernel_count
            LEFT JOIN test ON test.id = kernel_count.test
            WHERE attempt = ?
            ORDER BY kernel_count.id)sql"),
                   kKernels),
          collectives_(database.prepare(R"sql(
            SELECT case_id, op, "group", ranks, file, line, count, bytes
            FROM collective
            LEFT JOIN test ON test.id = collective.test
            WHERE attempt = ?
            ORDER BY collective.id)sql"),
                       kCollective),
          optimizer_steps_(database.prepare(R"sql(
            SELECT case_id, ranks, count
            FROM optimizer_step
            LEFT JOIN test ON test.id = optimizer_step.test
            WHERE attempt = ?
            ORDER BY optimizer_step.id)sql"),
                           kOptimizerSteps),
          diagnostics_(database.prepare(R"sql(
            SELECT file, byte_offset, message
            FROM diagnostic
            WHERE attempt = ?
            ORDER BY id)sql"),
                       kDiagnostic),
          leaked_(database.prepare(R"sql(
            SELECT id, pid, argv, killed
            FROM leaked_process
            WHERE attempt = ?
            ORDER BY id)sql"),
                  kLeaked, "leaked_process") {}

    std::vector<JobResult> attempts(std::int64_t module, const std::string& path) {
        std::vector<JobResult> jobs;
        for (auto& [id, job] : attempts_.all(module)) {
            if (job.ended)
                job.ended->peak_rss_bytes = static_cast<std::uint64_t>(job.peak_rss_bytes);
            parsers::ModuleRecord& record = job.record;
            record.path = path;
            record.cases = cases_of(id);
            record.device_events = device_events_.all(id);
            record.kernels = kernels_.all(id);
            record.collectives = collectives_.all(id);
            record.optimizer_steps = optimizer_steps_.all(id);
            record.diagnostics = diagnostics_.all(id);
            job.leaked = leaked_.all(id);
            jobs.push_back(std::move(job));
        }
        return jobs;
    }

  private:
    std::vector<CaseRecord> cases_of(std::int64_t attempt) {
        std::vector<CaseRecord> cases;
        std::unordered_map<std::int64_t, size_t> places;           // of results
        std::unordered_map<std::int64_t, size_t> places_in_tests;  // of sub-tests
        cases_.bind(attempt).each([&](CaseRow&& row) {
            places.emplace(row.id, cases.size());
            if (row.generated) row.test.generated.names = std::move(*row.generated);
            if (row.missing) row.test.missing.names = std::move(*row.missing);
            cases.push_back(std::move(row.test));
        });
        subtests_.bind(attempt).each([&](SubtestRow&& row) {
            auto& list = cases[place(places, row.result)].subcases;
            places_in_tests.emplace(row.id, list.size());
            list.push_back(std::move(row.subtest));
        });
        failures_.bind(attempt).each([&](FailureOfResult&& row) {
            CaseRecord& test = cases[place(places, row.result)];
            Failure failure = failure_of(row);
            if (row.subtest)
                test.subcases[place(places_in_tests, *row.subtest)].failure = std::move(failure);
            else if (row.also)
                test.also.push_back(std::move(failure));
            else
                test.failure = std::move(failure);
        });
        return cases;
    }

    Query<AttemptRow> attempts_;
    Query<CaseRow> cases_;
    Query<SubtestRow> subtests_;
    Query<FailureOfResult> failures_;
    Query<parsers::DeviceEvent> device_events_;
    Query<parsers::KernelCount> kernels_;
    Query<parsers::CollectiveCalls> collectives_;
    Query<parsers::OptimizerSteps> optimizer_steps_;
    Query<parsers::Diagnostic> diagnostics_;
    Query<LeakedProcess> leaked_;
};

// A module of a run's plan.
struct PlannedModule {
    std::int64_t id = 0;
    std::string path, not_run_reason;
};

std::vector<PlannedModule> planned_modules(Database& database, std::int64_t run,
                                           std::string_view only) {
    Query<PlannedModule> query(
        database.prepare("SELECT id, path, not_run_reason FROM module "
                         "WHERE run = ?1 AND (?2 = '' OR path = ?2) ORDER BY position, id"),
        [](PlannedModule& row, auto column) { COLUMNS(row, id, path, not_run_reason); });
    return query.all(run, only);
}

struct RunRow {
    RunInfo info;
    EndColumns end;
};

std::vector<StoredMismatch> mismatches_of(Database& database, std::int64_t run) {
    Query<StoredMismatch> query(
        database.prepare("SELECT module, message FROM mismatch WHERE run = ? ORDER BY id"),
        [](StoredMismatch& row, auto column) { COLUMNS(row, module, message); });
    return query.all(run);
}

}  // namespace

std::optional<RunEnd> EndColumns::ended() const {
    if (!finished) return std::nullopt;
    RunEnd ended = end;
    ended.finished = *finished;
    return ended;
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
    return row.integer();
}

std::string run_columns(RunFields which) {
    std::vector<std::string> columns{"run.id"};
    RunInfo any;
    describe_run(any, which, [&](std::string_view name, const auto&) {
        columns.push_back(name == "suite" ? "suite.name AS suite"
                                          : fmt::format("run.\"{}\"", name));
    });
    return fmt::format("{}", fmt::join(columns, ", "));
}

void complete_fields(RunInfo& info) {
    info.folder = run_folder_name(info.id);  // the column may be a stranger's
    if (info.expectations == "[]") info.expectations.clear();
}

StoredRun read_run(Database& database, std::int64_t run) {
    Query<RunRow> query(
        database.prepare(fmt::format("SELECT {}, {}, writes, hub_use FROM run JOIN suite ON "
                                     "suite.id = run.suite WHERE run.id = ?",
                                     run_columns(RunFields::all), kRunEndColumns)),
        [](RunRow& row, auto column) {
            describe_run(row.info, RunFields::all, column);
            describe_end(row.end, column);
            column("writes", row.end.end.writes);
            column("hub_use", row.end.end.hub);
        },
        "run");
    RunRow row = query.first(run).value_or(RunRow{});
    complete_fields(row.info);
    StoredRun stored{std::move(row.info), row.end.ended(), 0};
    if (stored.end) stored.end->mismatches = mismatches_of(database, run);
    stored.duration_s = stored.end ? stored.end->duration_s : duration_so_far(database, run);
    return stored;
}

Expected<void> read_modules(Database& database, std::int64_t run, std::string_view only,
                            const ModuleVisitor& see) {
    const StoredRun whole = read_run(database, run);
    ModuleReader reader(database);
    for (const auto& [id, path, not_run_reason] : planned_modules(database, run, only)) {
        StoredModule module{path, {}, {}, {}};
        for (JobResult& job : reader.attempts(id, path)) module.add(std::move(job));
        if (module.attempts.empty()) {
            module.not_run_reason = not_run_reason;
            if (not_run_reason.empty() && whole.end)
                module.not_run_reason = whole.end->not_run_reason;
            module.last_known_cases =
                read_last_known_cases(database, whole.info.suite, path, whole.info.started);
        }
        TRY(see(std::move(module)));
    }
    return {};
}

}  // namespace compat::store
