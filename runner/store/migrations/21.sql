-- The tests that a row stands for: more than one where a log counts tests without their names.
ALTER TABLE result ADD COLUMN tests INTEGER NOT NULL DEFAULT 1;
CREATE INDEX unnamed_results ON result (run, attempt, tests) WHERE tests <> 1;

DROP VIEW IF EXISTS v_case;
CREATE VIEW v_case AS
SELECT run.name AS run, suite.name AS suite, module.path AS module, test.case_id AS "case", result.state,
       result.reason, strftime('%Y-%m-%dT%H:%M:%fZ', result.started_ms / 1000.0, 'unixepoch') AS started,
       result.duration_s, attempt.number AS attempt, result.pseudo, source_file.path AS file,
       result.line, attempt.log, result.tests
FROM result
JOIN run ON run.id = result.run
JOIN suite ON suite.id = run.suite
JOIN attempt ON attempt.id = result.attempt
JOIN module ON module.id = attempt.module
JOIN test ON test.id = result.test
LEFT JOIN source_file ON source_file.id = result.file
WHERE result.verdict = 1;
