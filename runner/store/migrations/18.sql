-- Collectives of simulated CUDA devices, and the optimizers' steps that they are compared with.

CREATE TABLE collective (                        -- calls from a line of source, of all processes
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test     INTEGER REFERENCES test,            -- null: outside any test
    op       TEXT NOT NULL,                      -- all_reduce, …
    "group"  TEXT NOT NULL,                      -- as torch names it
    ranks    INTEGER NOT NULL,                   -- of the group
    file     TEXT NOT NULL,                      -- absolute; empty: unknown
    line     INTEGER NOT NULL,
    count    INTEGER NOT NULL,
    bytes    INTEGER NOT NULL                    -- of all calls: of each the larger tensor
);
CREATE INDEX collective_by_attempt ON collective (attempt);

CREATE TABLE optimizer_step (                    -- steps in processes that are ranks of a group
    id       INTEGER PRIMARY KEY,
    attempt  INTEGER NOT NULL REFERENCES attempt ON DELETE CASCADE,
    test     INTEGER REFERENCES test,            -- null: outside any test
    ranks    INTEGER NOT NULL,                   -- of all groups together
    count    INTEGER NOT NULL                    -- added up over the ranks
);
CREATE INDEX optimizer_step_by_attempt ON optimizer_step (attempt);
