-- Counts are written with the results, and a module's row says when its run began: the list of runs
-- and the past of a suite need not read every result and every run.

-- Tests by the state of their verdict; `modules`: that were planned.
ALTER TABLE module ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN errored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN xfailed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN xpassed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN crashed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN timed_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN not_run INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN modules INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN errored INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN skipped INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN xfailed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN xpassed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN crashed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN timed_out INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN not_run INTEGER NOT NULL DEFAULT 0;

-- Of its run, for finding the latest run of a module.
ALTER TABLE module ADD COLUMN run_started_ms INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN sharded INTEGER NOT NULL DEFAULT 0;

UPDATE module SET run_started_ms = run.started_ms, sharded = run.shard <> ''
FROM run
WHERE run.id = module.run;
UPDATE module SET passed = counted.passed, failed = counted.failed, errored = counted.errored,
    skipped = counted.skipped, xfailed = counted.xfailed, xpassed = counted.xpassed, crashed =
    counted.crashed, timed_out = counted.timed_out, not_run = counted.not_run
FROM (
    SELECT attempt.module AS module_id,
           count(*) FILTER (WHERE state = 'passed') AS passed,
           count(*) FILTER (WHERE state = 'failed') AS failed,
           count(*) FILTER (WHERE state = 'errored') AS errored,
           count(*) FILTER (WHERE state = 'skipped') AS skipped,
           count(*) FILTER (WHERE state = 'xfailed') AS xfailed,
           count(*) FILTER (WHERE state = 'xpassed') AS xpassed,
           count(*) FILTER (WHERE state = 'crashed') AS crashed,
           count(*) FILTER (WHERE state = 'timed_out') AS timed_out,
           count(*) FILTER (WHERE state = 'not_run') AS not_run
    FROM result
    JOIN attempt ON attempt.id = result.attempt
    WHERE verdict = 1
    GROUP BY attempt.module) AS counted
WHERE counted.module_id = module.id;
UPDATE run SET modules = counted.modules, passed = counted.passed, failed = counted.failed, errored
    = counted.errored, skipped = counted.skipped, xfailed = counted.xfailed, xpassed =
    counted.xpassed, crashed = counted.crashed, timed_out = counted.timed_out, not_run =
    counted.not_run
FROM (
    SELECT run AS run_id, count(*) AS modules,
           sum(passed) AS passed,
           sum(failed) AS failed,
           sum(errored) AS errored,
           sum(skipped) AS skipped,
           sum(xfailed) AS xfailed,
           sum(xpassed) AS xpassed,
           sum(crashed) AS crashed,
           sum(timed_out) AS timed_out,
           sum(not_run) AS not_run
    FROM module
    GROUP BY run) AS counted
WHERE counted.run_id = run.id;

DROP INDEX module_by_path;
CREATE INDEX module_by_path ON module (suite, path, run_started_ms);
CREATE INDEX module_of_whole_runs ON module (suite, path, run_started_ms) WHERE sharded = 0;

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

DROP VIEW v_run;
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
