// The data of a page: its types, and how its parts are read. reports/html/chunks.cc writes them; a
// page from disk carries each part compressed in an element of its own, a server sends them.
// Not for what pages show (pages/).

import type { Site } from "./site";

// A part by its name: "summary", "index", "details-0", "clusters", "changes", "porting", "sources", "source-0".
export interface Loader {
  load<T>(name: string): Promise<T>;
}

export type State =
  | "passed" | "failed" | "errored" | "skipped" | "xfailed" | "xpassed" | "crashed" | "timed_out" | "not_run";

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
  accounting: { closed: boolean; mismatches: { module: string | null; message: string }[]; more: number };
  modules_without_result: number;
  links: { total: number; unresolved: number };
  blind_spots: BlindSpot[]; // what the numbers do not say; only those with tests
  first_steps: FirstStep[]; // at most 10
  expectations: Expectations;
  causes: { name: string; means: string; tests: number }[]; // most tests first
  diagnoses: Record<string, number>;
  attributions: Record<string, number>;
  clusters: Cluster[]; // the largest 100; all of them are in the part "clusters"
  clusters_total: number;
  gaps: Gap[]; // the first 200
  gaps_total: number;
  load_failures: { key_line: string; type: string; modules: number; example: string; url: string | null }[]; // 100
  load_failures_total: number;
  redirections: Redirection[]; // the first 500
  redirections_total: number;
  collectives: Collectives | null; // null: there were none; the first 500 of its sites
  collectives_total: number;
  leaked_processes: { module: string; pid: number; command: string; killed: boolean }[]; // 100
  leaked_total: number;
  writes: { place: string; count: number; bytes: number; files: { path: string; change: string; bytes: number }[] }[]; // of an isolated run
  changes: ChangesSummary | null; // null: there is no run to compare with
  history: HistoryPoint[]; // runs of the same series, oldest first, this one last; at most 100
  sources: SourcesSummary | null; // null: no link leads to a copy of the suite's files
}

export interface Run {
  id: string; suite: string; series: string; framework: string; started: string; duration_s: number;
  complete: boolean; exit_code: number | null; shim: "on" | "off"; policy: string | null; masquerade: boolean;
  device: string; simulated: string | null; fallback: boolean; keep_going: boolean; seeds: number; diagnose: boolean;
  isolation: "off" | "tree" | "sandbox"; network: boolean; subset: string | null;
  commit: string | null; dirty: boolean; torch: string | null; root: string; command: string; imported: boolean;
  fingerprint: Record<string, unknown>;
}

export interface Expectations { // "entries" 0: nothing is expected of any test
  file: string | null; entries: number; expected_failures: number; unexpected_passes: number; unexpected_failures: number;
  notes: { kind: string; test: string; reason: string | null; issue: string | null; until: string | null }[]; // 100
}
export interface BlindSpot { name: string; words: string; tests: number }
export interface FirstStep {
  title: string; advice: string | null; cause: string | null;
  places: { place: string; url: string | null; tests: number }[]; // 3 at most
  signatures: string[]; // of its clusters, the largest first; at most 100
  example: string; url: string | null; tests: number; modules: number;
}
export interface Cluster {
  signature: string; tests: number; cause: string | null; class: string | null; confidence: string | null;
  rule: string | null; key_line: string; example: string; url: string | null; diagnosis: string | null;
  attribution: string | null; place: string | null; place_url: string | null; // of the suite's innermost frame
}
export interface GapSite { file: string; line: number; url: string | null; count: number; tests: number }
export interface Gap { // as in report.json
  symbol: string; kind: string; device: string; simulated: boolean; severity: string; status: string;
  equivalent: string | null; description: string | null; action: string | null; issue: string | null;
  tests: number; unblocked_alone: number; hits: number; sites: GapSite[];
  [more: string]: unknown;
}
export interface Redirection {
  kind: string; op: string; from: string; to: string; message: string | null; file: string; line: number;
  url: string | null; count: number; tests: number;
}
export interface Collectives { // as in report.json
  words: string[]; // its figures, and the model of its time
  sites: { op: string; group: string; ranks: number; count: number; bytes: number; file: string; line: number; url: string | null }[];
  [figures: string]: unknown;
}
// As reports/schemas/compare.schema.json has it, without "tests" and with the first 100 groups of
// each comparison; the part "changes" is the whole document.
export interface ChangesSummary { baseline: ComparedRun; chosen: string | null; comparisons: ComparisonSummary[] }
export interface ComparedRun {
  id: string; suite: string; started: string; torch: string | null; way: string; commit: string | null;
  complete: boolean; modules: number; tests: number; states: Record<State, number>;
}
export interface ComparisonSummary {
  run: ComparedRun; environment_known: boolean;
  environment: { name: string; baseline: string | null; run: string | null }[];
  drops: { what: string; baseline: number; run: number; spread: number }[];
  noise: { runs: number; tests: number }; duplicates: number; not_asked_for: number; classes: Record<string, number>;
  groups: { class: string; title: string; cause: string | null; signature: string | null; tests: number }[];
}
export interface CompareDocument {
  format: number; baseline: ComparedRun; chosen: string | null; fail_on: string[]; fails: boolean;
  comparisons: (ComparisonSummary & { tests: ChangedTest[] })[];
}
export interface ChangedTest {
  id: string; baseline_id: string | null; class: string; baseline: State | null; run: State | null;
  why: string | null; log: string | null; pseudo: boolean; group: number;
}
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
export const kStates: State[] = [
  "passed", "failed", "errored", "skipped", "xfailed", "xpassed", "crashed", "timed_out", "not_run"];
export const kMarkBits = {
  device: 1, fallback: 2, redirected: 4, untouched: 8, flaky: 16, fork_sensitive: 32, pseudo: 64,
  used_accelerator: 128};

export interface Module {
  path: string; url: string | null; outcome: string; reason: string | null; duration_s: number; attempts: number;
  log: string | null; log_url: string | null; process_end: string | null; last_known_cases: number | null;
  diagnostics: string[]; refusals: Refusal[]; reproduce: Reproduce | null;
  [cost: string]: unknown;
}

// ---- "details-N": a list of tests, each as in report.json and with these members more.
export interface Detail {
  id: string; state: State; reason: string | null; duration_s: number; file: string; line: number;
  url: string | null; marks: string[]; attempts: Attempt[]; subtests: Subtest[]; failure: Failure | null;
  diagnosis: Diagnosis | null; attribution: Attribution | null; expectation: Expectation | null; reproduce: Reproduce | null; log: string | null;
  // more:
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
export interface Expectation { fit: string; test: string; expect: string[]; reason: string | null; issue: string | null }
export interface Refusal { message: string; place: string; url: string | null }
export interface Reproduce { runner: string; plain: string }
export interface Attempt {
  attempt: number; kind: string; forked: boolean; state: State; duration_s: number; key_line: string | null;
  log: string | null;
}
export interface Subtest { id: string; state: State; reason: string | null; failure: Failure | null }
export interface Frame { file: string; line: number; function: string; suite: boolean; url: string | null }
export interface Failure {
  type: string; message: string; key_line: string; cause: string | null; class: string | null;
  confidence: string | null; rule: string | null; signature: string | null; also: Failure[]; traceback: string;
  frames: Frame[];
}
export interface Diagnosis {
  result: string; step: string | null; words: string; as: string | null;
  attempts: { attempt: number; step: string; state: State; duration_s: number; key_line: string | null; log: string | null }[];
}
export interface Attribution { cause: string; rule: string | null; words: string; run: string | null; as: string | null }

// ---- "source-N": copied files of the suite, where links lead to copies; texts by path.
export interface SourceTexts { files: Record<string, string> }
// ---- "sources": the number N of the part that has a file, and the copied files that none has.
export interface Sources { files: Record<string, number>; left_out: { path: string; why: string }[] }
// A link that begins with `prefix` leads to a copy: after it come the file's path, percent-encoded,
// and "#L" with the line unless it leads to the whole file.
export interface SourcesSummary { prefix: string; files: number; left_out: number }
