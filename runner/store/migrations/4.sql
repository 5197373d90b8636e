-- So that an attempt's files can be read again.

-- how its process ended, {"kind", "code", …}: words of parsers/record.h; null: not known
ALTER TABLE attempt ADD COLUMN ended TEXT CHECK (ended IS NULL OR json_valid(ended));
