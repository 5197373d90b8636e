// All tests: search, filters, groups and order, each part of the address. Not for how rows are
// chosen (table.ts).

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { FirstStep } from "../data";
import { kMarkBits, kStates, type State } from "../states";
import { Name, StateSign } from "../parts";
import { replaceQuery, type Route, testLink } from "../route";
import { type Filter, type Grouping, kAttention, kGroupings, kSorts, type Sort, Table } from "../table";
import { brief, counted, duration, number, words } from "../text";
import { VirtualList } from "../virtual";

const groupWords: Record<string, string> = {
  "": "no groups", state: "by state", cause: "by cause", cluster: "by error", module: "by module", folder: "by folder", reason: "by reason",
  mark: "by how it passed",
};
const markWords: Record<string, string> = {
  device: "used the device", fallback: "fell back to the CPU", race: "has a race", redirected: "redirected", untouched: "touched no device", generated: "used generated models or data",
  flaky: "flaky", fork_sensitive: "fork-sensitive", pseudo: "not a test", used_accelerator: "used the accelerator or was redirected",
};

// "step" is the number of one of the things to do first, "cluster" a signature.
function filterOf(query: URLSearchParams, steps: FirstStep[]): Filter {
  const step = steps[Number(query.get("step")) - 1];
  const cluster = query.get("cluster");
  return {
    q: query.get("q") ?? "",
    states: (query.get("state") ?? "").split(",").filter((name) => kStates.some((state) => state === name)),
    cause: query.get("cause") ?? "",
    folder: query.get("folder") ?? "",
    mark: query.get("mark") ?? "",
    // A step that this run does not have has no tests.
    clusters: step ? step.signatures : query.has("step") ? [""] : cluster ? [cluster] : [],
  };
}
function sortOf(query: URLSearchParams): Sort {
  const text = query.get("sort") ?? "order";
  const by = kSorts.find((name) => name === text.replace("-", "")) ?? "order";
  return { by, down: text.startsWith("-") };
}

const narrow = matchMedia("(max-width: 640px)");
function useRowHeight(): number {
  const [isNarrow, setNarrow] = useState(narrow.matches);
  useEffect(() => {
    const changed = () => setNarrow(narrow.matches);
    narrow.addEventListener("change", changed);
    return () => narrow.removeEventListener("change", changed);
  }, []);
  return isNarrow ? 60 : 34;
}

// A row of the list: a test, or the head of a group.
type Line = { group: string; rows: number[] } | number;

export function TestsPage({ table, steps, route }: { table: Table; steps: FirstStep[]; route: Route }) {
  const query = route.query.toString();
  const filter = useMemo(() => filterOf(route.query, steps), [query, steps]);
  const sort = useMemo(() => sortOf(route.query), [query]);
  const grouping = (kGroupings.find((name) => name === route.query.get("group")) ?? "") as Grouping;
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState(-1);
  const height = useRowHeight();
  const rows = useMemo(() => table.sorted(table.select(filter), sort), [table, filter, sort]);
  const lines = useMemo<Line[]>(() => {
    if (!grouping) return rows;
    return table.grouped(rows, grouping).flatMap((group) => {
      const head = { group: group.name, rows: group.rows };
      return folded.has(group.name) ? [head] : [head, ...group.rows];
    });
  }, [table, rows, grouping, folded]);
  useEffect(() => setActive(-1), [query]);

  const set = (values: Record<string, string | undefined>) => replaceQuery(route, values);
  const fold = (name: string) => {
    const next = new Set(folded);
    if (!next.delete(name)) next.add(name);
    setFolded(next);
  };
  const open = (at: number) => {
    const line = lines[at];
    if (line === undefined) return;
    if (typeof line === "number") location.hash = testLink(table.id(line));
    else fold(line.group);
  };
  const head = (by: Sort["by"], text: string, name: string) => (
    <div role="columnheader" class={`cell ${name}`}
      aria-sort={sort.by === by ? (sort.down ? "descending" : "ascending") : "none"}>
      <button type="button" onClick={() => set({ sort: sort.by !== by ? (by === "ms" || by === "state" ? `-${by}` : by) : sort.down ? (by === "ms" || by === "state" ? by : undefined) : (by === "ms" || by === "state" ? undefined : `-${by}`) })}>
        {text}{sort.by === by ? (sort.down ? " ▾" : " ▴") : ""}
      </button>
    </div>
  );

  return (
    <section class="tests">
      <h1 class="offscreen">Tests</h1>
      <Filters table={table} filter={filter} grouping={grouping} set={set} />
      <p class="found" role="status">
        {rows.length === table.size ? counted(table.size, "test") : `${number(rows.length)} of ${counted(table.size, "test")}`}
        {rows.length === 0 && <> <button type="button" onClick={() => set(kNoFilter)}>Clear the filters</button></>}
      </p>
      <PrintList table={table} rows={rows} />
      <VirtualList count={lines.length} height={height} label="Tests" active={active} onActive={setActive} onOpen={open}
        restore={`tests?${query}`}
        columns={<>{head("state", "State", "c-state")}{head("name", "Test", "c-name")}
          <div role="columnheader" class="cell c-why">Why</div>{head("ms", "Time", "c-time")}</>}
        row={(at) => {
          const line = lines[at]!;
          return typeof line === "number" ? <TestRow table={table} row={line} />
            : <GroupRow name={line.group} grouping={grouping} count={line.rows.length} folded={folded.has(line.group)} onFold={() => fold(line.group)} />;
        }} />
    </section>
  );
}

function TestRow({ table, row }: { table: Table; row: number }) {
  const state = table.state(row);
  return (
    <>
      <div role="cell" class="cell c-state"><StateSign state={state} /> <span class="word">{words(state)}</span></div>
      <div role="cell" class="cell c-name"><a href={testLink(table.id(row))} title={brief(table.id(row), 300)}><Name text={table.index.name[row]!} length={300} /> <span class="c-module wide-only"><Name text={table.module(row)} length={200} /></span></a>
        {table.has(row, "flaky") && <span class="tag">flaky</span>}</div>
      <div role="cell" class="cell c-why">{table.why(row) ? <Name text={table.why(row)} length={200} /> : <span class="narrow-only"><Name text={table.module(row)} length={200} /></span>}</div>
      <div role="cell" class="cell c-time">{duration(table.index.ms[row]! / 1000)}</div>
    </>
  );
}

function GroupRow({ name, grouping, count, folded, onFold }:
  { name: string; grouping: Grouping; count: number; folded: boolean; onFold: () => void }) {
  const shown = grouping === "mark" ? (markWords[name] ?? name) : grouping === "state" || grouping === "cause" ? words(name) : name;
  return (
    <div role="cell" class="cell group">
      <button type="button" aria-expanded={!folded} onClick={onFold}>{folded ? "▸" : "▾"} <Name text={shown} length={200} /> <span class="n">{number(count)}</span></button>
    </div>
  );
}

const kNoFilter = { q: undefined, state: undefined, cause: undefined, folder: undefined, mark: undefined, cluster: undefined, step: undefined };

function Filters({ table, filter, grouping, set }:
  { table: Table; filter: Filter; grouping: Grouping; set: (values: Record<string, string | undefined>) => void }) {
  const { index } = table;
  const search = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const slash = (event: KeyboardEvent) => {
      if (event.key !== "/" || event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement) return;
      search.current?.focus();
      event.preventDefault();
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);
  const counts = useMemo(() => {
    const byState = new Array<number>(kStates.length).fill(0);
    const byMark = new Map<string, number>();
    for (let row = 0; row < table.size; row++) {
      byState[index.state[row]!]!++;
    }
    for (const [mark, bit] of Object.entries(kMarkBits)) {
      const n = index.marks.reduce((sum, marks) => sum + (marks & bit ? 1 : 0), 0);
      if (n > 0) byMark.set(mark, n);
    }
    return { byState, byMark };
  }, [table]);
  const folders = useMemo(() => foldersOf(index.modules.map((module) => module.path)), [table]);
  const toggle = (state: State) => {
    const states = filter.states.includes(state) ? filter.states.filter((other) => other !== state) : [...filter.states, state];
    set({ state: states.join(",") || undefined });
  };
  const select = (name: string, label: string, value: string, options: [string, string][]) => (
    <label class="select"><span>{label}</span>
      <select value={value} onChange={(event) => set({ [name]: event.currentTarget.value || undefined })}>
        {options.map(([key, text]) => <option key={key} value={key}>{brief(text, 80)}</option>)}
      </select>
    </label>
  );
  const isBroken = kAttention.length === filter.states.length && kAttention.every((state) => filter.states.includes(state));
  return (
    <div class="filters" role="search">
      <input ref={search} type="search" value={filter.q} placeholder="Search names and errors  ( / )" aria-label="Search names and errors"
        onInput={(event) => set({ q: event.currentTarget.value || undefined })} />
      <div class="states" role="group" aria-label="States">
        <button type="button" class="toggle" aria-pressed={isBroken} onClick={() => set({ state: isBroken ? undefined : kAttention.join(",") })}>broken</button>
        {kStates.map((state, at) => counts.byState[at]! > 0 && (
          <button key={state} type="button" class="toggle" aria-pressed={filter.states.includes(state)} onClick={() => toggle(state)}>
            <StateSign state={state} /> {words(state)} <span class="n">{number(counts.byState[at]!)}</span>
          </button>
        ))}
      </div>
      <div class="selects">
        {index.causes.length > 0 && select("cause", "Cause", filter.cause,
          [["", "any"], ...[...index.causes].sort().map((name): [string, string] => [name, words(name)]), ["none", "none"]])}
        {folders.length > 0 && select("folder", "Folder", filter.folder,
          [["", "any"], ...folders.map((name): [string, string] => [name, name]),
            ...(filter.folder && !folders.includes(filter.folder) ? [[filter.folder, filter.folder] as [string, string]] : [])])}
        {counts.byMark.size > 0 && select("mark", "How it passed", filter.mark,
          [["", "any"], ...[...counts.byMark].map(([mark, n]): [string, string] => [mark, `${markWords[mark] ?? mark} (${number(n)})`])])}
        {select("group", "Group", grouping, Object.entries(groupWords))}
        {filter.clusters.length > 0 && <button type="button" onClick={() => set({ cluster: undefined, step: undefined })}>{filter.clusters.length === 1 ? "one error" : "one step"} ✕</button>}
      </div>
    </div>
  );
}

// Folders of modules, and the modules where they are few.
function foldersOf(modules: string[]): string[] {
  const folders = new Set<string>();
  for (const module of modules) {
    const parts = module.split("/");
    for (let depth = 1; depth < parts.length; depth++) folders.add(parts.slice(0, depth).join("/"));
  }
  const list = [...folders, ...(modules.length <= 200 ? modules : [])].sort();
  return list.slice(0, 1000);
}

// Paper shows more rows than the screen.
const kPrinted = 2000;
function PrintList({ table, rows }: { table: Table; rows: number[] }) {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const on = () => setPrinting(true), off = () => setPrinting(false);
    addEventListener("beforeprint", on);
    addEventListener("afterprint", off);
    return () => { removeEventListener("beforeprint", on); removeEventListener("afterprint", off); };
  }, []);
  if (!printing) return null;
  return (
    <ul class="print-only">
      {rows.slice(0, kPrinted).map((row) => (
        <li key={row}>{words(table.state(row))}: <Name text={table.id(row)} length={300} />{table.why(row) && <>: <Name text={table.why(row)} length={200} /></>}</li>
      ))}
      {rows.length > kPrinted && <li>and {number(rows.length - kPrinted)} more</li>}
    </ul>
  );
}
