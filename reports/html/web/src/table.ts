// The tests of a run as columns: which of them a filter shows, in which order, in which groups. A
// report may have 100,000 of them, so nothing here makes an object for each. Not for how the table
// looks (tests.tsx).

import type { Cluster, Detail, Index } from "./data";
import { kMarkBits, kStates, type State } from "./states";

export const kAttention: State[] = ["failed", "errored", "crashed", "timed_out"];
// Best to worst, for sorting.
const kSeverity = ["passed", "xfailed", "skipped", "not_run", "xpassed", "timed_out", "failed", "errored", "crashed"];
const severity = kStates.map((state) => kSeverity.indexOf(state));

export const kGroupings = ["state", "cause", "cluster", "module", "folder", "reason", "mark"] as const;
export type Grouping = (typeof kGroupings)[number] | "";
export const kSorts = ["order", "name", "state", "ms"] as const;
export type Sort = { by: (typeof kSorts)[number]; down: boolean };

export interface Filter {
  q: string; // words that the id or the key line has, all of them
  states: string[]; // empty: any
  cause: string; // "none": without one
  folder: string; // a module, or a folder of modules
  mark: string;
  clusters: string[]; // signatures, any of them; empty: any
}

export const kAllTests: Filter = { q: "", states: [], cause: "", folder: "", mark: "", clusters: [] };

export class Table {
  readonly size: number;
  private lower?: string[];
  private rank?: Uint32Array;
  private byId?: Map<string, number>;
  private keyLines: string[];

  constructor(readonly index: Index, clusters: Cluster[]) {
    this.size = index.name.length;
    const lines = new Map(clusters.map((cluster) => [cluster.signature, cluster.key_line]));
    this.keyLines = index.signatures.map((signature) => lines.get(signature) ?? "");
  }

  module = (row: number) => this.index.modules[this.index.module[row]!]!.path;
  id = (row: number) => this.index.ids[row] ?? `${this.module(row)}::${this.index.name[row]}`;
  state = (row: number) => kStates[this.index.state[row]!]!;
  cause = (row: number) => this.index.causes[this.index.cause[row]!] ?? "";
  // Why it ended so, in one line; empty: it passed.
  why = (row: number) => this.keyLines[this.index.cluster[row]!] ?? this.index.reasons[this.index.reason[row]!] ?? "";
  has = (row: number, mark: keyof typeof kMarkBits) => (this.index.marks[row]! & kMarkBits[mark]) !== 0;
  marks = (row: number) =>
    (Object.keys(kMarkBits) as (keyof typeof kMarkBits)[]).filter((mark) => this.has(row, mark));

  url(row: number): string | null {
    const special = this.index.urls[row];
    if (special !== undefined) return special || null;
    const file = this.index.files[this.index.file[row]!];
    return file?.url ? file.url.replace("{line}", String(this.index.line[row])) : null;
  }

  find(id: string): number | undefined {
    if (!this.byId) {
      this.byId = new Map();
      for (let row = 0; row < this.size; row++) this.byId.set(this.id(row), row);
    }
    return this.byId.get(id);
  }

  // The test's row of the part that has it. While a run goes on, the part may be of another moment
  // than the index: rows have moved then. Undefined: to another part.
  detail(details: Detail[], row: number): Detail | undefined {
    const id = this.id(row);
    const placed = details[this.index.row[row]!];
    return placed?.id === id ? placed : details.find((detail) => detail.id === id);
  }

  // The first search and the first order by name take time: before anybody asks for them.
  prepareSearch(): void {
    // The first look into a text that was put together makes one piece of it.
    for (const text of this.lowered()) text.includes("\u0000");
  }
  prepareOrder(): void {
    this.ranks();
  }

  private lowered(): string[] {
    if (!this.lower) {
      const modules = this.index.modules.map((module) => module.path.toLowerCase());
      const lines = this.keyLines.map((line) => line.toLowerCase().slice(0, 500));
      const reasons = this.index.reasons.map((reason) => reason.toLowerCase());
      this.lower = this.index.name.map((name, row) => {
        const line = lines[this.index.cluster[row]!] ?? reasons[this.index.reason[row]!];
        return `${modules[this.index.module[row]!]}::${name.toLowerCase()}${line ? `\n${line}` : ""}`;
      });
    }
    return this.lower;
  }

  // Place of each test in the order of names.
  private ranks(): Uint32Array {
    if (!this.rank) {
      const ids = Array.from({ length: this.size }, (_, row) => this.id(row));
      const order = ids.map((_, row) => row).sort((a, b) => (ids[a]! < ids[b]! ? -1 : ids[a]! > ids[b]! ? 1 : 0));
      this.rank = new Uint32Array(this.size);
      order.forEach((row, place) => (this.rank![row] = place));
    }
    return this.rank;
  }

  select(filter: Filter): number[] {
    const { index } = this;
    const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
    const text = words.length ? this.lowered() : undefined;
    const states = filter.states.length ? kStates.map((state) => filter.states.includes(state)) : undefined;
    const cause = filter.cause === "none" ? -1 : filter.cause ? index.causes.indexOf(filter.cause) : undefined;
    if (filter.cause && filter.cause !== "none" && cause === -1) return [];
    const clusters = filter.clusters.length ? index.signatures.map((one) => filter.clusters.includes(one)) : undefined;
    const mark = filter.mark ? (kMarkBits[filter.mark as keyof typeof kMarkBits] ?? 0) : 0;
    const folder = filter.folder;
    const modules = folder
      ? index.modules.map(({ path }) => path === folder || path.startsWith(folder.endsWith("/") ? folder : `${folder}/`))
      : undefined;
    const rows: number[] = [];
    for (let row = 0; row < this.size; row++) {
      if (states && !states[index.state[row]!]) continue;
      if (cause !== undefined && index.cause[row] !== cause) continue;
      if (clusters && !clusters[index.cluster[row]!]) continue;
      if (filter.mark && !(index.marks[row]! & mark)) continue;
      if (modules && !modules[index.module[row]!]) continue;
      if (text && !words.every((word) => text[row]!.includes(word))) continue;
      rows.push(row);
    }
    return rows;
  }

  sorted(rows: number[], sort: Sort): number[] {
    if (sort.by === "order") return sort.down ? [...rows].reverse() : rows;
    const { index } = this;
    const rank = sort.by === "name" ? this.ranks() : undefined;
    const key = rank
      ? (row: number) => rank[row]!
      : sort.by === "ms"
        ? (row: number) => index.ms[row]!
        : (row: number) => severity[index.state[row]!]!;
    const sign = sort.down ? -1 : 1;
    return [...rows].sort((a, b) => sign * (key(a) - key(b)) || a - b);
  }

  // What a grouping sorts rows by: a number for each row, and the name of each number.
  private groupsBy(by: Grouping): { key: (row: number) => number; name: (key: number) => string } {
    const { index } = this;
    switch (by) {
      case "state":
        return { key: (row) => index.state[row]!, name: (key) => kStates[key]! };
      case "cause":
        return { key: (row) => index.cause[row]!, name: (key) => index.causes[key] ?? "no cause" };
      case "cluster":
        return { key: (row) => index.cluster[row]!, name: (key) => this.keyLines[key] ?? "no failure" };
      case "reason":
        return { key: (row) => index.reason[row]!, name: (key) => index.reasons[key] ?? "no reason" };
      case "folder": {
        const folders = index.modules.map(({ path }) => path.split("/").slice(0, -1).join("/") || ".");
        const names = [...new Set(folders)];
        const numbers = folders.map((folder) => names.indexOf(folder));
        return { key: (row) => numbers[index.module[row]!]!, name: (key) => names[key]! };
      }
      case "mark": {
        const how = ["race", "device", "fallback", "redirected", "untouched"] as const;
        return {
          key: (row) => how.findIndex((mark) => this.has(row, mark)),
          name: (key) => how[key] ?? "no mark",
        };
      }
      default:
        return { key: (row) => index.module[row]!, name: (key) => index.modules[key]!.path };
    }
  }

  // Groups with the most tests first; the order of the rows stays.
  grouped(rows: number[], by: Grouping): { name: string; rows: number[] }[] {
    const { key, name } = this.groupsBy(by);
    const groups = new Map<number, number[]>();
    for (const row of rows) {
      const number = key(row);
      const group = groups.get(number);
      if (group) group.push(row);
      else groups.set(number, [row]);
    }
    return [...groups].map(([number, list]) => ({ name: name(number), rows: list })).sort((a, b) => b.rows.length - a.rows.length);
  }
}
