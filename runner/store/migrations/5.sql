-- Deleting a test's sub-tests must not read all failures for each.

CREATE INDEX failure_by_subtest ON failure (subtest) WHERE subtest IS NOT NULL;
