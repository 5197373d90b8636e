-- A module may take several processes, a plan several machines.

-- "2/5"; empty: the run is whole
ALTER TABLE run ADD COLUMN shard TEXT NOT NULL DEFAULT '';
-- names the plan before it was cut
ALTER TABLE run ADD COLUMN plan TEXT NOT NULL DEFAULT '';
-- the first of runs that differ in nothing; their differences are noise
ALTER TABLE run ADD COLUMN repeat_of TEXT NOT NULL DEFAULT '';
-- whole, rest, alone, again (runner/base/attempt.h)
ALTER TABLE attempt ADD COLUMN kind TEXT NOT NULL DEFAULT 'whole';
-- 1: its process came from the zygote
ALTER TABLE attempt ADD COLUMN forked INTEGER NOT NULL DEFAULT 0;
-- [id, …] that were asked for, of all kinds but whole
ALTER TABLE attempt ADD COLUMN only_ids TEXT NOT NULL DEFAULT '[]';
-- 1: collection was over
ALTER TABLE attempt ADD COLUMN ready INTEGER NOT NULL DEFAULT 1;
-- the largest sum over its processes, storage as wait4(2) counts it
ALTER TABLE attempt ADD COLUMN peak_rss_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN read_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN written_bytes INTEGER NOT NULL DEFAULT 0;
-- 0: it could not be killed
ALTER TABLE leaked_process ADD COLUMN killed INTEGER NOT NULL DEFAULT 1;
