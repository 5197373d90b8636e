-- A text that many failures share is stored once.

CREATE TABLE text (
    id       INTEGER PRIMARY KEY,
    hash     INTEGER NOT NULL,                   -- FNV-1a of its bytes, 64 bits; not unique
    content  TEXT NOT NULL
);
CREATE INDEX text_by_hash ON text (hash);
INSERT INTO text (hash, content)
SELECT text_hash(content), content
FROM (SELECT message AS content FROM failure
      UNION SELECT traceback FROM failure
      UNION SELECT frames FROM failure);

CREATE TABLE new_failure (
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
INSERT INTO new_failure
SELECT failure.id, result, subtest, also, type, messages.id, key_line, phase, counted,
       tracebacks.id, frame_texts.id, signature, cause, error_class, confidence, rule
FROM failure
JOIN text AS messages
    ON messages.hash = text_hash(failure.message) AND messages.content = failure.message
JOIN text AS tracebacks
    ON tracebacks.hash = text_hash(failure.traceback) AND tracebacks.content = failure.traceback
JOIN text AS frame_texts
    ON frame_texts.hash = text_hash(failure.frames) AND frame_texts.content = failure.frames
ORDER BY failure.id;
DROP VIEW v_failure;
DROP TABLE failure;
ALTER TABLE new_failure RENAME TO failure;
CREATE INDEX failure_by_result ON failure (result);
CREATE INDEX failure_by_subtest ON failure (subtest) WHERE subtest IS NOT NULL;
CREATE INDEX failure_by_signature ON failure (signature) WHERE signature IS NOT NULL;

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
