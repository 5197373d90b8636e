-- Why tests failed, and what devices lack.

-- words of parsers/diagnosis/diagnosis.h and the rule's id in parsers/diagnosis/rules.json; null: not worked out
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
