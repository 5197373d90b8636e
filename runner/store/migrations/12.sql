-- What was expected of the run's tests, as the file said when it began.

ALTER TABLE run ADD COLUMN expectations_file TEXT NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN expectations TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(expectations));
