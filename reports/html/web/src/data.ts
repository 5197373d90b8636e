// The data of a page: its types, and how its parts are read. reports/html/chunks.cc writes them; a
// page from disk carries each part compressed in an element of its own, a server sends them. Types
// of report.json and compare's document come from reports/schemas: build.mjs makes ../schemas.
// Not for what pages show (pages/).

import type { Compare, Comparison, Run as ComparedRun } from "../schemas/compare";
import type { Case, Failure, Module as ReportModule, Report } from "../schemas/report";
import type { Site } from "./site";
import type { State } from "./states";

// Each key that the schema allows to be absent, as in a report of an older version, is in a page.
type Item<List> = NonNullable<List> extends (infer Row)[] ? Required<Row> : never;

// A part by its name: "summary", "index", "details-0", "clusters", "changes", "porting", "sources", "source-0".
export interface Loader {
  load<T>(name: string): Promise<T>;
}

// ---- "summary": at most 1 MB, whatever the number of tests; plain JSON in the page. Where a run
// has much more than usual, lists are shorter than said here, and long texts end with "…".
export interface Summary {
  format: 1;
  generator: string;
  kind: "run" | "compare" | "porting" | "runs" | "test" | "gaps" // "runs", "test", "gaps": from a server only
    | "site" | "site-suite" | "site-tests"; // pages of a site (site.ts)
  title: string; // of the document
  run?: RunSummary; // if kind is "run"
  live?: boolean; // "run" and "runs": it goes on, so its parts change; asked for again every 5 seconds
  runs?: StoredRun[]; // if kind is "runs": newest first
  test?: TestHistory; // if kind is "test"
  site?: Site; // of the pages of a site
  parts: string[]; // names of the parts that exist besides "summary"
}

export interface RunSummary {
  run: Run;
  totals: Record<string, number>; // as in report.json, and "used_accelerator"
  accounting: Report["accounting"] & { more: number };
  modules_without_result: number;
  links: Report["links"];
  blind_spots: NonNullable<Report["blind_spots"]>; // what the numbers do not say; only those with tests
  first_steps: FirstStep[]; // at most 10
  expectations: Expectations;
  causes: { name: string; means: string; tests: number }[]; // most tests first
  diagnoses: Record<string, number>;
  attributions: Record<string, number>;
  clusters: Cluster[]; // the largest 100; all of them are in the part "clusters"
  clusters_total: number;
  gaps: Gap[]; // the first 200
  gaps_total: number;
  load_failures: Report["load_failures"]; // 100
  load_failures_total: number;
  redirections: Redirection[]; // the first 500
  redirections_total: number;
  collectives: Collectives | null; // null: there were none; the first 500 of its sites
  collectives_total: number;
  leaked_processes: Report["leaked_processes"]; // 100
  leaked_total: number;
  writes: NonNullable<Report["writes"]>; // of an isolated run
  changes: ChangesSummary | null; // null: there is no run to compare with
  history: HistoryPoint[]; // runs of the same series, oldest first, this one last; at most 100
  sources: SourcesSummary | null; // null: no link leads to a copy of the suite's files
}

export type Run = Required<Report["run"]> & { imported: boolean };
export type Expectations = NonNullable<Report["expectations"]>; // "entries" 0: nothing is expected of any test
export type FirstStep = Item<Report["first_steps"]>;
export type Cluster = Item<Report["clusters"]>;
export type Gap = Report["gaps"][number];
export type Redirection = Item<Report["redirections"]>;
export type Collectives = NonNullable<Report["collectives"]>;
// Without the tests and with the first 100 groups of each comparison; the part "changes" is the
// whole document.
export type ComparisonSummary = Omit<Comparison, "tests">;
export interface ChangesSummary { baseline: ComparedRun; chosen: string | null; comparisons: ComparisonSummary[] }
export type CompareDocument = Compare;
export type ChangedTest = Comparison["tests"][number];
export interface HistoryPoint { id: string; started: string; complete: boolean; states: Record<State, number> }

// ---- of a server
export interface StoredRun extends HistoryPoint {
  suite: string; series: string; way: string; torch: string | null; duration_s: number;
  running: boolean; modules: number; url: string; // of its page
  compare: string | null; // address of the comparison with the run before of its series
}
export interface TestHistory {
  id: string;
  results: { run: string; url: string; started: string; series: string; way: string; state: State; duration_s: number; why: string }[]; // newest first
}

// ---- "index": every test, one array a column; row i of each is one test, in the order of the run.
export interface Index {
  modules: Module[];
  files: { path: string; url: string | null }[]; // "{line}" in a URL stands for the line
  causes: string[];
  signatures: string[]; // those of `clusters`
  reasons: string[]; // why tests did not run, or broke without a failure; their first 300 bytes
  module: number[]; // index in modules
  name: string[]; // the id without the module's path and "::"
  state: number[]; // index in kStates
  marks: number[]; // sum of kMarkBits
  ms: number[]; // duration in milliseconds, rounded
  file: number[]; // index in files; -1: unknown
  line: number[];
  cause: number[]; // index in causes; -1: none
  cluster: number[]; // index in signatures; -1: none
  reason: number[]; // index in reasons; -1: none
  block: number[]; // the part "details-N" that has more on it; -1: there is no more
  row: number[]; // its place in that part
  urls: Record<string, string>; // by row: links that `files` does not give; "": the row has none
  ids: Record<string, string>; // by row: ids that do not begin with the module's path and "::"
}
// Without its tests, and with what the page adds.
export type Module = Omit<ReportModule, "cases"> & { log_url: string | null; refusals: Refusal[] };

// ---- "details-N": a list of tests, each as in report.json and with these members more.
export interface Detail extends Required<Omit<Case, "generated" | "missing">> {
  generated?: Case["generated"];
  missing?: Case["missing"];
  log_url: string | null;
  redirected_at: { place: string; url: string | null } | null;
  redirections: Redirection[]; // the first 20 of the test itself
  refusals: Refusal[];
  history: { run: string; started: string; state: State }[]; // oldest first, at most 30
  issue: string | null; // Markdown to paste into an issue; null: switched off, nothing failed, or 10,000 tests have one
  log_excerpt: LogExcerpt | null; // of the first 500 tests that need attention
  no_excerpt: string | null; // why there is none of a log that there is
}
// At most 40 lines; where some are left out, one of them says how many.
export interface LogExcerpt {
  first_line: number; // from 1; 0: the log is empty
  lines: string[];
  about_test: boolean; // false: no line names the test, so these are the log's last
}
export interface Refusal { message: string; place: string; url: string | null }
export type Attempt = Case["attempts"][number];
export type Subtest = Case["subtests"][number];
export type { Failure };

// ---- "source-N": copied files of the suite, where links lead to copies; texts by path.
export interface SourceTexts { files: Record<string, string> }
// ---- "sources": the number N of the part that has a file, and the copied files that none has.
export interface Sources { files: Record<string, number>; left_out: { path: string; why: string }[] }
// A link that begins with `prefix` leads to a copy: after it come the file's path, percent-encoded,
// and "#L" with the line unless it leads to the whole file.
export interface SourcesSummary { prefix: string; files: number; left_out: number }
