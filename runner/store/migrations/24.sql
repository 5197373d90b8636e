-- Models and data that a test asked for and the hub could not give: the first names as JSON, and how
-- many there are; null: none.
ALTER TABLE result ADD COLUMN missing TEXT;
ALTER TABLE result ADD COLUMN missing_count INTEGER NOT NULL DEFAULT 0;
