// The data of a site's pages: its types, and small answers about them. reports/site/site.cc writes
// them. Not for what the pages show (pages/site.tsx).

import { kStates, type State } from "./states";

export type Rate = ["exercised" | "ran", number, number]; // which tests it counts; good; all

export interface SiteRun {
  id: string; started: string; torch: string; commit: string; report: string | null; rate: Rate;
  states: number[]; // in the order of kStates
  duration_s: number;
}
export interface Trend {
  flaky: number; new_signatures: number; gone_signatures: number; gaps_opened: number; gaps_closed: number;
  causes: Record<string, number>;
}
export interface Cell {
  suite: string; page: string; column: string; torch: string; way: string; series: string; badge: string;
  unfinished: string | null; now: SiteRun; before: SiteRun | null;
  broke: number; fixed: number; flaky: number; added: number; gone: number;
}
// Addresses are relative to the site's folder: `root` leads there.
export interface Problem { suite: string; column: string; torch: string; why: string }
// A test of two versions of torch in one night: id, change, states (null: not there), errors.
export type TorchTest = [string, "regressed" | "changed" | "fixed", State | null, State | null, string, string];
export interface TorchPair { suite: string; column: string; older: string; newer: string; tests: TorchTest[] }
export interface Site { root: string; suite?: string; parts?: string[]; cells: Cell[]; problems?: Problem[]; torch_pairs?: TorchPair[] }

export interface SiteTest { cell: number; id: string; page: string; error: string | null }
export type Change = [string, string | null, string | null]; // name, before, after
export interface Break {
  cell: number; first_bad: string; last_good: string | null; since: string; newest: boolean;
  commit_before: string | null; commit: string | null; known: boolean; environment: Change[]; tests: number; first: SiteTest[];
}
export interface Signature { cell: number; cause: string | null; key_line: string; example: string; tests: number }
export interface Lists {
  fixed: SiteTest[]; flaky: { test: SiteTest; flaky: number; window: number; strip: string }[];
  growth: { test: SiteTest; before_s: number; now_s: number }[];
  appeared: Signature[]; vanished: Signature[]; trends: Trend[]; trends_before: Trend[];
}

export type ModuleRow = [string, string, ([Rate, number, number, number] | null)[]]; // path, page, by cell: rate, tests, broken, seconds
export type Point = SiteRun & { trend: Trend };

export type ShortRun = [string, string, string, string, string]; // id, started, torch, commit, report
// strip, standing, since, last good, first bad, flips, ran, retried, flaky, of so many, 1: the newest run has it
export type History = [string, string, number, number | null, number | null, number, number, number, number, number, number];
export interface TestsOfSuite {
  runs: ShortRun[][]; first_run: number[]; older: Record<string, ShortRun>[];
  changed: [number, number, number, boolean, Change[]][]; histories: History[];
  modules: { path: string; names: string[]; histories: number[][]; errors: Record<string, string>[] }[];
}

// Breaks of one suite, in several columns, that are the same event: the same tests with the same
// changes before them. The first of them, with all.
export function sameEvents(site: Site, breaks: Break[]): { one: Break; all: Break[] }[] {
  const events = new Map<string, Break[]>();
  for (const one of breaks) {
    const key = JSON.stringify([site.cells[one.cell]!.suite, one.tests, one.first.map((test) => test.id), one.known,
      one.environment, one.commit_before, one.commit, one.last_good === null, one.newest]);
    events.set(key, [...(events.get(key) ?? []), one]);
  }
  return [...events.values()].map((all) => ({ one: all[0]!, all }));
}

// A name that begins with "\n" is an id that does not begin with its module's path.
export const idOf = (module: string, name: string) => (name.startsWith("\n") ? name.slice(1) : `${module}::${name}`);
export const runAt = (tests: TestsOfSuite, cell: number, run: number): ShortRun | undefined =>
  tests.runs[cell]?.[run - (tests.first_run[cell] ?? 0)] ?? tests.older[cell]?.[String(run)];

const letters = ".FEsxXCT-";
export const stateOf = (letter: string): State | undefined => (letter === "r" ? "passed" : kStates[letters.indexOf(letter)]);
const bad = new Set(["failed", "errored", "crashed", "timed_out"]);
export const isBad = (letter: string) => bad.has(stateOf(letter) ?? "");
export const brokenIn = (run: SiteRun) => kStates.reduce((sum, state, at) => sum + (bad.has(state) ? run.states[at]! : 0), 0);
export const testsIn = (run: SiteRun) => run.states.reduce((sum, n) => sum + n, 0);

export const share = (rate: Rate) => (rate[2] === 0 ? undefined : rate[1] / rate[2]);
// A word for the colour of a rate; the number stands beside it.
export function grade(rate: Rate): string {
  const value = share(rate);
  return value === undefined ? "none" : value === 1 ? "all" : value >= 0.95 ? "most" : value >= 0.8 ? "some" : "few";
}
