-- The part of the suite that a run was asked for, as words of its command line (subset.h): [word, …].

ALTER TABLE run ADD COLUMN subset TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(subset));
UPDATE run SET subset = subset_of_older_run(argv);
