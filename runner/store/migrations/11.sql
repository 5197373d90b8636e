-- Diagnostic attempts, and what they changed; empty: the attempt is of another kind.

ALTER TABLE run ADD COLUMN diagnose INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN step TEXT NOT NULL DEFAULT '';
-- What they showed of the test, in words; empty: nothing.
ALTER TABLE gap_hit ADD COLUMN diagnosis TEXT NOT NULL DEFAULT '';
