-- The column of a nightly matrix that a run fills, by its name; empty: it fills none.

ALTER TABLE run ADD COLUMN "column" TEXT NOT NULL DEFAULT '';
