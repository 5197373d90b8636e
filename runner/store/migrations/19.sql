-- The part of the suite that the command line chose, as words of one: targets, -k, and what goes to
-- pytest; empty: all of it, or an older runner stored the run.

ALTER TABLE run ADD COLUMN subset TEXT NOT NULL DEFAULT '';
