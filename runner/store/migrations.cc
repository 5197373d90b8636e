#include "runner/store/migrations.h"

#include <fmt/format.h>

#include <array>

#include "schema_sql.h"

namespace compat::store {

namespace {

// "rnr1": tells our files from other programs' SQLite databases.
constexpr std::int64_t kApplicationId = 0x726e7231;

// A module may take several processes, a plan several machines.
constexpr char kAttemptsAndShards[] = R"sql(
    -- "2/5"; empty: the run is whole
    ALTER TABLE run ADD COLUMN shard TEXT NOT NULL DEFAULT '';
    -- names the plan before it was cut
    ALTER TABLE run ADD COLUMN plan TEXT NOT NULL DEFAULT '';
    -- the first of runs that differ in nothing; their differences are noise
    ALTER TABLE run ADD COLUMN repeat_of TEXT NOT NULL DEFAULT '';
    -- whole, rest, alone, again (runner/base/attempt.h)
    ALTER TABLE attempt ADD COLUMN kind TEXT NOT NULL DEFAULT 'whole';
    -- 1: its process came from the zygote
    ALTER TABLE attempt ADD COLUMN forked INTEGER NOT NULL DEFAULT 0;
    -- [id, …] that were asked for, of all kinds but whole
    ALTER TABLE attempt ADD COLUMN only_ids TEXT NOT NULL DEFAULT '[]';
    -- 1: collection was over
    ALTER TABLE attempt ADD COLUMN ready INTEGER NOT NULL DEFAULT 1;
    -- the largest sum over its processes, storage as wait4(2) counts it
    ALTER TABLE attempt ADD COLUMN peak_rss_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE attempt ADD COLUMN read_bytes INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE attempt ADD COLUMN written_bytes INTEGER NOT NULL DEFAULT 0;
    -- 0: it could not be killed
    ALTER TABLE leaked_process ADD COLUMN killed INTEGER NOT NULL DEFAULT 1;
)sql";

// Why tests failed, and what devices lack.
constexpr char kDiagnosesAndGaps[] = R"sql(
    -- words of parsers/diagnosis.h and the rule's id in parsers/rules.json; null: not worked out
    ALTER TABLE failure ADD COLUMN cause TEXT;
    ALTER TABLE failure ADD COLUMN error_class TEXT;
    ALTER TABLE failure ADD COLUMN confidence TEXT;
    ALTER TABLE failure ADD COLUMN rule TEXT;
    DROP VIEW v_failure;
    CREATE VIEW v_failure AS
    SELECT run.name AS run, suite.name AS suite, module.path AS module, test.case_id AS "case",
           subtest.label AS subtest, coalesce(subtest.state, result.state) AS state, failure.also,
           failure.cause, failure.error_class, failure.confidence, failure.rule, failure.type,
           failure.key_line, failure.message, failure.phase, failure.signature, failure.traceback
    FROM failure
    JOIN result ON result.id = failure.result AND result.verdict = 1
    JOIN run ON run.id = result.run
    JOIN suite ON suite.id = run.suite
    JOIN attempt ON attempt.id = result.attempt
    JOIN module ON module.id = attempt.module
    JOIN test ON test.id = result.test
    LEFT JOIN subtest ON subtest.id = failure.subtest;

    -- words of runner/base/gap.h
    CREATE TABLE gap (
        id           INTEGER PRIMARY KEY,
        symbol       TEXT NOT NULL,
        kind         TEXT NOT NULL,
        device       TEXT NOT NULL,
        simulated    INTEGER NOT NULL,
        equivalent   TEXT NOT NULL,
        description  TEXT NOT NULL,
        severity     TEXT NOT NULL,
        action       TEXT NOT NULL,
        status       TEXT NOT NULL DEFAULT 'open',
        issue        TEXT NOT NULL DEFAULT '',      -- upstream's
        by_hand      TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(by_hand)), -- [field, …] that no scan overrules
        scanned      INTEGER NOT NULL DEFAULT 0,    -- 1: torch's own API tells of it
        first_seen   TEXT NOT NULL,                 -- run, or "scan"
        first_torch  TEXT NOT NULL,
        last_seen    TEXT NOT NULL,
        last_torch   TEXT NOT NULL,
        closed_by    TEXT,                          -- run, or "scan"; null: open, or closed by hand
        closed_torch TEXT,                          -- null as closed_by
        UNIQUE (symbol, kind, device, simulated)
    );
    CREATE TABLE gap_hit (                          -- where a run met it
        id      INTEGER PRIMARY KEY,
        gap     INTEGER NOT NULL REFERENCES gap ON DELETE CASCADE,
        run     INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
        test    TEXT NOT NULL,                      -- case id; empty: outside any test
        file    TEXT NOT NULL,                      -- absolute; empty: unknown
        line    INTEGER NOT NULL,
        count   INTEGER NOT NULL,                   -- 0: the test, which it had blocked, passed without it
        blocks  INTEGER NOT NULL                    -- 1: the test failed of it
    );
    CREATE INDEX gap_hit_by_gap ON gap_hit (gap, test, run);
    CREATE INDEX gap_hit_by_run ON gap_hit (run);
    CREATE VIEW v_gap AS
    SELECT gap.symbol, gap.kind, gap.device, gap.simulated, gap.severity, gap.status,
           count(DISTINCT gap_hit.test) FILTER (WHERE gap_hit.blocks) AS tests_blocked,
           gap.equivalent, gap.description, gap.action, gap.issue, gap.first_seen, gap.last_seen,
           gap.last_torch, gap.closed_by
    FROM gap
    LEFT JOIN run ON run.name = gap.last_seen
    LEFT JOIN gap_hit ON gap_hit.gap = gap.id AND gap_hit.run = run.id
    GROUP BY gap.id;
)sql";

// So that an attempt's files can be read again.
constexpr std::string_view kEnds = R"sql(
    -- how its process ended, {"kind", "code", …}: words of parsers/record.h; null: not known
    ALTER TABLE attempt ADD COLUMN ended TEXT CHECK (ended IS NULL OR json_valid(ended));
)sql";

// Deleting a test's sub-tests must not read all failures for each.
constexpr std::string_view kFailuresOfSubtests =
    "CREATE INDEX failure_by_subtest ON failure (subtest) WHERE subtest IS NOT NULL;";

constexpr std::array kMigrations{
    Migration{1, kSchemaSql},
    Migration{2, kAttemptsAndShards},
    Migration{3, kDiagnosesAndGaps},
    Migration{4, kEnds},
    Migration{5, kFailuresOfSubtests},
};

std::int64_t pragma(Database& database, const char* name) {
    Statement statement = database.prepare(fmt::format("PRAGMA {}", name));
    return statement.step() ? statement.integer(0) : 0;
}

Expected<std::int64_t> known_version(Database& database, std::span<const Migration> steps) {
    const auto version = pragma(database, "user_version");
    const auto application = pragma(database, "application_id");
    Statement tables = database.prepare("SELECT count(*) FROM sqlite_schema");
    tables.step();
    const bool empty = version == 0 && tables.integer(0) == 0;
    if (!empty && application != kApplicationId)
        return fail(ErrorKind::database, "not a database of this program",
                    "name another folder with --results; where it was this program's, " +
                        how_to_rebuild(database.file()),
                    database.file().string());
    if (version > steps.back().version)
        return fail(ErrorKind::database,
                    fmt::format("the database has version {}, newer than the {} this runner knows",
                                version, steps.back().version),
                    "use the newer runner that wrote it, or name another folder with --results",
                    database.file().string());
    return version;
}

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

Expected<void> migrate(Database& database, std::span<const Migration> steps) {
    auto version = known_version(database, steps);
    if (!version) return tl::unexpected(version.error());
    for (const Migration& step : steps) {
        if (step.version <= *version) continue;
        Transaction transaction(database);
        // Another process may have taken this step while we waited for the lock.
        if (pragma(database, "user_version") < step.version) {
            database.execute(std::string(step.sql));
            database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                                         kApplicationId, step.version));
        }
        transaction.commit();
    }
    return {};
}

Expected<void> check_version(Database& database, std::span<const Migration> steps) {
    const auto version = known_version(database, steps);
    if (!version) return tl::unexpected(version.error());
    if (*version < steps.back().version)
        return fail(ErrorKind::database,
                    fmt::format("the database has version {}, older than {}", *version,
                                steps.back().version),
                    "open it once for writing, as a run does, to bring it up to date",
                    database.file().string());
    return {};
}

}  // namespace compat::store
