-- <attempt>.hub.jsonl: which models and data a test used, and which of these the hub had generated.
ALTER TABLE attempt ADD COLUMN hub TEXT NOT NULL DEFAULT '';

-- The first names as JSON, and how many there are; null: nothing generated.
ALTER TABLE result ADD COLUMN generated TEXT;
ALTER TABLE result ADD COLUMN generated_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX generated_results ON result (run) WHERE generated_count > 0;
