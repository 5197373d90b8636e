-- Runs whose attempts each had another stream of random numbers.

ALTER TABLE run ADD COLUMN seeds INTEGER NOT NULL DEFAULT 0;
