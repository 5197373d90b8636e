-- What `--diagnose` changed for a diagnostic attempt; empty: the attempt is of another kind.

ALTER TABLE attempt ADD COLUMN step TEXT NOT NULL DEFAULT '';
