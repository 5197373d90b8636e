-- Where the tests got models and datasets (RunInfo::hub), and what a local hub did (RunEnd::hub).
ALTER TABLE run ADD COLUMN hub TEXT NOT NULL DEFAULT 'off';
ALTER TABLE run ADD COLUMN hub_use TEXT;
