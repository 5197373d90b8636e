-- Why a module of merged shards never started; empty: the run's reason holds.

ALTER TABLE module ADD COLUMN not_run_reason TEXT NOT NULL DEFAULT '';
