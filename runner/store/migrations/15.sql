-- What kept the run's tests apart from the host, and what they wrote into the run's own folders.

ALTER TABLE run ADD COLUMN isolation TEXT NOT NULL DEFAULT 'off';
ALTER TABLE run ADD COLUMN network INTEGER NOT NULL DEFAULT 1;
ALTER TABLE run ADD COLUMN writes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(writes));
