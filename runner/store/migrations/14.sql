-- Why a module of merged shards never started; empty: the run's reason holds.

ALTER TABLE module ADD COLUMN not_run_reason TEXT NOT NULL DEFAULT '';
-- The last position of a plan, for each module that is added to it.
CREATE INDEX module_by_position ON module (run, position);
