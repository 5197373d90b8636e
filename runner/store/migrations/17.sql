-- Tests that exercised the device, as analysis::used_accelerator defines it: in the attempt that
-- decides a kernel of the device ran, a device was changed, or the device refused something. Good:
-- passed, xfailed, xpassed; broken: failed, errored, crashed, timed_out. Kept as the other counts.
ALTER TABLE module ADD COLUMN exercised_good INTEGER NOT NULL DEFAULT 0;
ALTER TABLE module ADD COLUMN exercised_broken INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN exercised_good INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN exercised_broken INTEGER NOT NULL DEFAULT 0;

UPDATE module SET exercised_good = counted.good, exercised_broken = counted.broken
FROM (
    SELECT used.module AS module_id,
           count(*) FILTER (WHERE state IN ('passed', 'xfailed', 'xpassed')) AS good,
           count(*) FILTER (WHERE state IN ('failed', 'errored', 'crashed', 'timed_out')) AS broken
    FROM (
        SELECT attempt.module, attempt.id AS attempt, device_event.test
        FROM attempt
        JOIN device_event ON device_event.attempt = attempt.id
        JOIN site ON site.id = device_event.site
            AND site.kind IN ('redirect', 'fold', 'override', 'fallback', 'refusal')
        WHERE attempt.shim IS NOT NULL
        UNION
        SELECT module, attempt, test
        FROM (
            SELECT attempt.module, attempt.id AS attempt, kernel_count.test, kernel_count.device,
                   coalesce(nullif(json_extract(attempt.shim, '$.simulated'), ''),
                            json_extract(attempt.shim, '$.host')) AS target
            FROM attempt
            JOIN kernel_count ON kernel_count.attempt = attempt.id AND kernel_count.count > 0
            WHERE attempt.shim IS NOT NULL)
        WHERE target <> 'cpu' AND (device = target OR device GLOB target || ':*')) AS used
    JOIN result ON result.attempt = used.attempt AND result.test = used.test AND verdict = 1
    GROUP BY used.module) AS counted
WHERE counted.module_id = module.id;
UPDATE run SET exercised_good = counted.good, exercised_broken = counted.broken
FROM (
    SELECT run AS run_id, sum(exercised_good) AS good, sum(exercised_broken) AS broken
    FROM module
    GROUP BY run) AS counted
WHERE counted.run_id = run.id;

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
