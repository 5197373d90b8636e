-- By run first: the rows of a run are added at the end of the index. By test first, each run wrote
-- nearly all pages of the index anew. A test's history is one search for each run of its suite.

DROP INDEX result_by_test;
CREATE INDEX result_of_test ON result (run, test);
