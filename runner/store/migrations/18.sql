-- The schema of version 18, the first that a released runner could have written: older databases are
-- refused. Never edit a step: add the next one (docs/reference/store-schema.md).
--
-- Times are milliseconds since 1970 in UTC (`*_ms`) or seconds (`*_s`); sizes are bytes; flags are 0 or 1.
-- States, outcomes and phases are the words of parsers/record.h.

CREATE TABLE suite (
    id    INTEGER PRIMARY KEY,
    name  TEXT NOT NULL UNIQUE
);

CREATE TABLE run (
    id              INTEGER PRIMARY KEY,
    name            TEXT NOT NULL UNIQUE,        -- "<series>_<UTC>-<hex>"
    suite           INTEGER NOT NULL REFERENCES suite,
    series          TEXT NOT NULL,
    started_ms      INTEGER NOT NULL,
    framework       TEXT NOT NULL,
    shim            INTEGER NOT NULL,
    policy          TEXT NOT NULL,
    masquerade      INTEGER NOT NULL,
    device          TEXT NOT NULL,
    simulated       TEXT,
    fallback        INTEGER NOT NULL,
    commit_id       TEXT NOT NULL,
    dirty           INTEGER NOT NULL,
    remote          TEXT NOT NULL,
    torch           TEXT NOT NULL,
    root            TEXT NOT NULL,
    links_base      TEXT NOT NULL,
    python          TEXT NOT NULL,
    env             TEXT NOT NULL CHECK (json_valid(env)),           -- [[name, value], …]
    argv            TEXT NOT NULL CHECK (json_valid(argv)),          -- [word, …]
    rerun_argv      TEXT NOT NULL CHECK (json_valid(rerun_argv)),    -- [word, …]
    fingerprint     TEXT NOT NULL CHECK (json_valid(fingerprint)),   -- {…}
    folder          TEXT NOT NULL,               -- relative to the database's folder
    folder_format   INTEGER NOT NULL,
    -- Null until the run has ended in order:
    finished_ms     INTEGER,
    duration_s      REAL,
    complete        INTEGER,
    exit_code       INTEGER,
    accounting_closed INTEGER,
    not_run_reason  TEXT,
    shard           TEXT NOT NULL DEFAULT '',    -- "2/5"; empty: the run is whole
    plan            TEXT NOT NULL DEFAULT '',    -- names the plan before it was cut
    repeat_of       TEXT NOT NULL DEFAULT '',    -- the first of runs that differ in nothing; their differences are noise
    -- Kept by the triggers below, from the modules' counts:
    modules         INTEGER NOT NULL DEFAULT 0,  -- that were planned
    passed          INTEGER NOT NULL DEFAULT 0,
    failed          INTEGER NOT NULL DEFAULT 0,
    errored         INTEGER NOT NULL DEFAULT 0,
    skipped         INTEGER NOT NULL DEFAULT 0,
    xfailed         INTEGER NOT NULL DEFAULT 0,
    xpassed         INTEGER NOT NULL DEFAULT 0,
    crashed         INTEGER NOT NULL DEFAULT 0,
    timed_out       INTEGER NOT NULL DEFAULT 0,
    not_run         INTEGER NOT NULL DEFAULT 0,
    keep_going      INTEGER NOT NULL DEFAULT 0,
    seeds           INTEGER NOT NULL DEFAULT 0,
    diagnose        INTEGER NOT NULL DEFAULT 0,
    -- What was expected of the run's tests, as the file said when it began:
    expectations_file TEXT NOT NULL DEFAULT '',
    expectations    TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(expectations)),
    -- What kept the run's tests apart from the host, and what they wrote into the run's own folders:
    isolation       TEXT NOT NULL DEFAULT 'off',
    network         INTEGER NOT NULL DEFAULT 1,
    writes          TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(writes)),
    "column"        TEXT NOT NULL DEFAULT '',    -- of a nightly matrix; empty: it fills none
    exercised_good  INTEGER NOT NULL DEFAULT 0,
    exercised_broken INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX run_by_time ON run (started_ms);
CREATE INDEX run_by_series ON run (suite, series, started_ms);

CREATE TABLE mismatch (                          -- figures that did not agree at the run's end
    id       INTEGER PRIMARY KEY,
    run      INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    module   TEXT NOT NULL,                      -- empty: the run as a whole
    message  TEXT NOT NULL
);
CREATE INDEX mismatch_by_run ON mismatch (run);

CREATE TABLE module (                            -- what was planned, whether it came to run or not
    id        INTEGER PRIMARY KEY,
    run       INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    suite     INTEGER NOT NULL REFERENCES suite,
    path      TEXT NOT NULL,
    position  INTEGER NOT NULL,                  -- in the plan, from 0
    -- Tests by the state of their verdict:
    passed    INTEGER NOT NULL DEFAULT 0,
    failed    INTEGER NOT NULL DEFAULT 0,
    errored   INTEGER NOT NULL DEFAULT 0,
    skipped   INTEGER NOT NULL DEFAULT 0,
    xfailed   INTEGER NOT NULL DEFAULT 0,
    xpassed   INTEGER NOT NULL DEFAULT 0,
    crashed   INTEGER NOT NULL DEFAULT 0,
    timed_out INTEGER NOT NULL DEFAULT 0,
    not_run   INTEGER NOT NULL DEFAULT 0,
    -- Of its run, for finding the latest run of a module:
    run_started_ms INTEGER NOT NULL DEFAULT 0,
    sharded   INTEGER NOT NULL DEFAULT 0,
    -- Of merged shards: why it never started; empty: the run's reason holds.
    not_run_reason TEXT NOT NULL DEFAULT '',
    -- Tests that exercised the device, as analysis::used_accelerator defines it. Good: passed, xfailed,
    -- xpassed; broken: failed, errored, crashed, timed_out.
    exercised_good INTEGER NOT NULL DEFAULT 0,
    exercised_broken INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run, path)
);
CREATE INDEX module_by_path ON module (suite, path, run_started_ms);
CREATE INDEX module_of_whole_runs ON module (suite, path, run_started_ms) WHERE sharded = 0;
CREATE INDEX module_by_position ON module (run, position); -- the last position of a plan

CREATE TABLE attempt (
    id                 INTEGER PRIMARY KEY,
    module             INTEGER NOT NULL REFERENCES module ON DELETE CASCADE,
    number             INTEGER NOT NULL,         -- from 1
    outcome            TEXT NOT NULL,
    reason             TEXT NOT NULL,
    framework          TEXT NOT NULL,
    framework_version  TEXT NOT NULL,
    python_version     TEXT NOT NULL,
    collected          INTEGER NOT NULL,
    started_ms         INTEGER NOT NULL,
    duration_s         REAL NOT NULL,
    user_s             REAL NOT NULL,
    system_s           REAL NOT NULL,
    max_rss_bytes      INTEGER NOT NULL,
    log                TEXT NOT NULL,            -- files, relative to the run's folder
    events             TEXT NOT NULL,
    devices            TEXT NOT NULL,
    process_end        TEXT NOT NULL,
    dropped_log_bytes  INTEGER NOT NULL,
    finished           INTEGER NOT NULL,         -- 1: the framework returned in order
    from_text          INTEGER NOT NULL,         -- 1: read from the log's text, there were no events
    shim               TEXT CHECK (shim IS NULL OR json_valid(shim)),
                                                 -- {"version", "torch", "host", "mode", …}; null: not active
    closing            TEXT CHECK (closing IS NULL OR json_valid(closing)),
                                                 -- {"text", "ran", "counts": [[word, n], …]}
    kind               TEXT NOT NULL DEFAULT 'whole', -- AttemptKind (runner/base/attempt.h)
    forked             INTEGER NOT NULL DEFAULT 0,    -- 1: its process came from the zygote
    only_ids           TEXT NOT NULL DEFAULT '[]',    -- [id, …] that were asked for, of all kinds but whole
    ready              INTEGER NOT NULL DEFAULT 1,    -- 1: collection was over
    -- The largest sum over its processes; storage as wait4(2) counts it:
    peak_rss_bytes     INTEGER NOT NULL DEFAULT 0,
    read_bytes         INTEGER NOT NULL DEFAULT 0,
    written_bytes      INTEGER NOT NULL DEFAULT 0,
    ended              TEXT CHECK (ended IS NULL OR json_valid(ended)),
                                                 -- {"kind", "code", …}: words of parsers/record.h; null: not known
    step               TEXT NOT NULL DEFAULT '', -- what a diagnostic attempt changed
    UNIQUE (module, number)
);

CREATE TABLE source_file (
    id    INTEGER PRIMARY KEY,
    path  TEXT NOT NULL UNIQUE                   -- absolute, as the child saw it
);

CREATE TABLE test (                              -- a test of a suite, whatever became of it
    id      INTEGER PRIMARY KEY,
    suite   INTEGER NOT NULL REFERENCES suite,
    case_id TEXT NOT NULL,                       -- path::Class::test[params]
    name    TEXT NOT NULL,                       -- the framework's own id
    UNIQUE (case_id, suite, name)
);

CREATE TABLE result (                            -- a test in an attempt
    id          INTEGER PRIMARY KEY,
    run         INTEGER NOT NULL REFERENCES run ON DELETE CASCADE,
    attempt     INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test        INTEGER NOT NULL REFERENCES test,
    verdict     INTEGER NOT NULL,                -- 1: of the last attempt that has this test
    state       TEXT NOT NULL,
    phase       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    duration_s  REAL NOT NULL,
    file        INTEGER REFERENCES source_file,
    line        INTEGER NOT NULL,                -- 0: unknown
    started     INTEGER NOT NULL,                -- 1: the framework began it
    call_state  TEXT,                            -- what the framework said of its call, if not `state`
    pseudo      INTEGER NOT NULL,                -- 1: a row that is not a test (`<module>`)
    started_ms  INTEGER                          -- null: it never began, or nobody said when
);
-- By run first: the rows of a run are added at the end of the index. A test's history is one search
-- for each run of its suite.
CREATE INDEX result_of_test ON result (run, test);
CREATE INDEX result_by_attempt ON result (attempt);
CREATE INDEX result_by_state ON result (run, verdict, state);

CREATE TABLE subtest (
    id        INTEGER PRIMARY KEY,
    result    INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
    label     TEXT NOT NULL,
    state     TEXT NOT NULL,
    reason    TEXT NOT NULL
);
CREATE INDEX subtest_by_result ON subtest (result);

CREATE TABLE site (                              -- a place in code where a device was changed
    id    INTEGER PRIMARY KEY,
    kind  TEXT NOT NULL,
    op    TEXT NOT NULL,
    asked TEXT NOT NULL,                         -- device asked for
    given TEXT NOT NULL,                         -- device given
    file  TEXT NOT NULL,
    line  INTEGER NOT NULL,
    UNIQUE (file, line, op, kind, asked, given)
);

CREATE TABLE device_event (
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test     INTEGER REFERENCES test,            -- null: outside any test
    site     INTEGER NOT NULL REFERENCES site,
    count    INTEGER NOT NULL,
    message  TEXT NOT NULL DEFAULT ''            -- the refusal's class and text where it was not raised
);
CREATE INDEX device_event_by_attempt ON device_event (attempt);

CREATE TABLE kernel_count (                      -- what a test ran on which device
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test     INTEGER REFERENCES test,            -- null: outside any test
    device   TEXT NOT NULL,
    count    INTEGER NOT NULL
);
CREATE INDEX kernel_count_by_attempt ON kernel_count (attempt);

CREATE TABLE diagnostic (                        -- what was odd in an attempt's files
    id           INTEGER PRIMARY KEY,
    attempt      INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    file         TEXT NOT NULL,                  -- log, events, devices
    byte_offset  INTEGER NOT NULL,
    message      TEXT NOT NULL
);
CREATE INDEX diagnostic_by_attempt ON diagnostic (attempt);

CREATE TABLE leaked_process (
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    pid      INTEGER NOT NULL,
    argv     TEXT NOT NULL CHECK (json_valid(argv)),
    killed   INTEGER NOT NULL DEFAULT 1          -- 0: it could not be killed
);
CREATE INDEX leaked_process_by_attempt ON leaked_process (attempt);

CREATE TABLE gap (                              -- words of runner/base/gap.h
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
    blocks  INTEGER NOT NULL,                   -- 1: the test failed of it
    diagnosis TEXT NOT NULL DEFAULT ''          -- what diagnostic attempts showed, in words; empty: nothing
);
CREATE INDEX gap_hit_by_gap ON gap_hit (gap, test, run);
CREATE INDEX gap_hit_by_run ON gap_hit (run);

CREATE TRIGGER module_added AFTER INSERT ON module
BEGIN
    UPDATE run SET modules = modules + 1 WHERE id = NEW.run;
END;

CREATE TRIGGER module_removed AFTER DELETE ON module
BEGIN
    UPDATE run SET modules = modules - 1,
        passed = passed - OLD.passed,
        failed = failed - OLD.failed,
        errored = errored - OLD.errored,
        skipped = skipped - OLD.skipped,
        xfailed = xfailed - OLD.xfailed,
        xpassed = xpassed - OLD.xpassed,
        crashed = crashed - OLD.crashed,
        timed_out = timed_out - OLD.timed_out,
        not_run = not_run - OLD.not_run
    WHERE id = OLD.run;
END;

CREATE TRIGGER module_counted AFTER UPDATE OF passed, failed, errored, skipped, xfailed, xpassed,
    crashed, timed_out, not_run ON module
BEGIN
    UPDATE run SET
        passed = passed - OLD.passed + NEW.passed,
        failed = failed - OLD.failed + NEW.failed,
        errored = errored - OLD.errored + NEW.errored,
        skipped = skipped - OLD.skipped + NEW.skipped,
        xfailed = xfailed - OLD.xfailed + NEW.xfailed,
        xpassed = xpassed - OLD.xpassed + NEW.xpassed,
        crashed = crashed - OLD.crashed + NEW.crashed,
        timed_out = timed_out - OLD.timed_out + NEW.timed_out,
        not_run = not_run - OLD.not_run + NEW.not_run
    WHERE id = NEW.run;
END;

CREATE TABLE text (                              -- stored once, however many failures share it
    id       INTEGER PRIMARY KEY,
    hash     INTEGER NOT NULL,                   -- FNV-1a of its bytes, 64 bits; not unique
    content  TEXT NOT NULL
);
CREATE INDEX text_by_hash ON text (hash);

CREATE TABLE failure (
    id           INTEGER PRIMARY KEY,
    result       INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
    subtest      INTEGER REFERENCES subtest ON DELETE CASCADE,  -- null: the test's own
    also         INTEGER NOT NULL,               -- 1: a further failure of the same test
    type         TEXT NOT NULL,
    message      INTEGER NOT NULL REFERENCES text,
    key_line     TEXT NOT NULL,
    phase        TEXT NOT NULL,
    counted      TEXT,                           -- failed or errored, as the framework counted it
    traceback    INTEGER NOT NULL REFERENCES text,
    frames       INTEGER NOT NULL REFERENCES text,              -- [[file, line, function], …]
    signature    TEXT,                           -- null, as the next four: not worked out
    cause        TEXT,                           -- words of parsers/diagnosis/diagnosis.h
    error_class  TEXT,
    confidence   TEXT,
    rule         TEXT                            -- its id in parsers/diagnosis/rules.json
);
CREATE INDEX failure_by_result ON failure (result);
CREATE INDEX failure_by_subtest ON failure (subtest) WHERE subtest IS NOT NULL;
CREATE INDEX failure_by_signature ON failure (signature) WHERE signature IS NOT NULL;

CREATE TRIGGER module_exercised_removed AFTER DELETE ON module
BEGIN
    UPDATE run SET exercised_good = exercised_good - OLD.exercised_good,
        exercised_broken = exercised_broken - OLD.exercised_broken
    WHERE id = OLD.run;
END;

CREATE TRIGGER module_exercised AFTER UPDATE OF exercised_good, exercised_broken ON module
BEGIN
    UPDATE run SET
        exercised_good = exercised_good - OLD.exercised_good + NEW.exercised_good,
        exercised_broken = exercised_broken - OLD.exercised_broken + NEW.exercised_broken
    WHERE id = NEW.run;
END;

CREATE TABLE collective (                        -- calls from a line of source, of all processes
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test     INTEGER REFERENCES test,            -- null: outside any test
    op       TEXT NOT NULL,                      -- all_reduce, …
    "group"  TEXT NOT NULL,                      -- as torch names it
    ranks    INTEGER NOT NULL,                   -- of the group
    file     TEXT NOT NULL,                      -- absolute; empty: unknown
    line     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    bytes    INTEGER NOT NULL                    -- of all calls: of each the larger tensor
);
CREATE INDEX collective_by_attempt ON collective (attempt);

CREATE TABLE optimizer_step (                    -- steps in processes that are ranks of a group
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test     INTEGER REFERENCES test,            -- null: outside any test
    ranks    INTEGER NOT NULL,                   -- of all groups together
    count    INTEGER NOT NULL                    -- added up over the ranks
);
CREATE INDEX optimizer_step_by_attempt ON optimizer_step (attempt);

-- For people with sqlite3 or Datasette; v_case is in step 21.

CREATE VIEW v_gap AS
SELECT gap.symbol, gap.kind, gap.device, gap.simulated, gap.severity, gap.status,
       count(DISTINCT gap_hit.test) FILTER (WHERE gap_hit.blocks) AS tests_blocked,
       gap.equivalent, gap.description, gap.action, gap.issue, gap.first_seen, gap.last_seen,
       gap.last_torch, gap.closed_by
FROM gap
LEFT JOIN run ON run.name = gap.last_seen
LEFT JOIN gap_hit ON gap_hit.gap = gap.id AND gap_hit.run = run.id
GROUP BY gap.id;

CREATE VIEW v_run AS
SELECT run.name AS run, suite.name AS suite, run.series,
       strftime('%Y-%m-%dT%H:%M:%SZ', run.started_ms / 1000, 'unixepoch') AS started,
       run.duration_s,
       CASE run.complete WHEN 1 THEN 'complete' WHEN 0 THEN 'interrupted' ELSE 'open' END AS status,
       run.exit_code, run.accounting_closed, run.framework, run.device, run.simulated, run.shim, run.policy,
       run.torch, run.commit_id AS "commit", run.modules,
       passed + failed + errored + skipped + xfailed + xpassed + crashed + timed_out + not_run AS collected,
       passed, failed, errored, skipped, xfailed, xpassed, crashed, timed_out, not_run
FROM run JOIN suite ON suite.id = run.suite;

CREATE VIEW v_failure AS
SELECT run.name AS run, suite.name AS suite, module.path AS module, test.case_id AS "case",
       subtest.label AS subtest, coalesce(subtest.state, result.state) AS state, failure.also,
       failure.cause, failure.error_class, failure.confidence, failure.rule, failure.type,
       failure.key_line, messages.content AS message, failure.phase, failure.signature,
       tracebacks.content AS traceback
FROM failure
JOIN result ON result.id = failure.result AND result.verdict = 1
JOIN run ON run.id = result.run
JOIN suite ON suite.id = run.suite
JOIN attempt ON attempt.id = result.attempt
JOIN module ON module.id = attempt.module
JOIN test ON test.id = result.test
JOIN text AS messages ON messages.id = failure.message
JOIN text AS tracebacks ON tracebacks.id = failure.traceback
LEFT JOIN subtest ON subtest.id = failure.subtest;
