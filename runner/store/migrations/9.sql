-- Runs that go on where the simulated device refuses, and what it refused there.

ALTER TABLE run ADD COLUMN keep_going INTEGER NOT NULL DEFAULT 0;
-- The refusal's class and text where it was not raised; else empty.
ALTER TABLE device_event ADD COLUMN message TEXT NOT NULL DEFAULT '';
