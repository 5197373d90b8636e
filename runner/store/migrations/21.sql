-- The tests that a row stands for: more than one where a log counts tests without their names.
ALTER TABLE result ADD COLUMN tests INTEGER NOT NULL DEFAULT 1;
