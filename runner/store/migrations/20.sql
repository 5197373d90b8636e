-- Decisions of runner/analysis, stored with what they decide. New rows get them from there; older
-- rows get here what it would have decided.

-- RunInfo::gives_verdicts.
ALTER TABLE run ADD COLUMN gives_verdicts INTEGER NOT NULL DEFAULT 1;
UPDATE run SET gives_verdicts = 0 WHERE keep_going OR seeds > 0;

-- analysis::stability_of: a verdict that passed after the test had broken in a process of the same
-- kind. A failure in a fork that a fresh process does not repeat is of the fork, unless forks
-- themselves differ.
ALTER TABLE result ADD COLUMN flaky INTEGER NOT NULL DEFAULT 0;
UPDATE result SET flaky = 1
WHERE id IN (
    SELECT decided.id
    FROM result AS other
    CROSS JOIN attempt AS its ON its.id = other.attempt AND its.kind <> 'diagnostic'
    CROSS JOIN result AS decided ON decided.test = other.test AND decided.run = other.run
        AND decided.verdict = 1 AND decided.state = 'passed'
    CROSS JOIN attempt AS decides ON decides.id = decided.attempt
    WHERE other.verdict = 0 AND other.state IN ('failed', 'errored', 'crashed', 'timed_out')
        AND (NOT its.forked OR decides.forked OR EXISTS (
            SELECT 1
            FROM result AS third
            JOIN attempt AS fork ON fork.id = third.attempt AND fork.forked
                AND fork.kind <> 'diagnostic'
            WHERE third.test = other.test AND third.run = other.run
                AND third.state IN ('passed', 'skipped', 'xfailed', 'xpassed'))));
CREATE INDEX flaky_results ON result (run) WHERE flaky = 1;

-- analysis::used_accelerator: in this attempt a kernel of the device ran, a device was changed, or
-- the device refused something.
ALTER TABLE result ADD COLUMN used_accelerator INTEGER NOT NULL DEFAULT 0;
UPDATE result SET used_accelerator = 1
WHERE id IN (
    SELECT result.id
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
    CROSS JOIN module ON module.id = used.module
    CROSS JOIN result ON result.run = module.run AND result.test = used.test
        AND result.attempt = used.attempt);
