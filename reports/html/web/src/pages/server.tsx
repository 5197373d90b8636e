// Pages that only a server has: the stored runs, the results of one test over all of them, and the
// whole gap log.

import { useState } from "preact/hooks";

import type { Gap, StoredRun, TestHistory } from "../data";
import { kStates } from "../states";
import { Bar, Name, Part, Some, StateWord } from "../parts";
import { kAttention } from "../table";
import { counted, date, duration, number, safeUrl, visible } from "../text";
import { GapList } from "./lists";

export function RunsPage({ runs }: { runs: StoredRun[] }) {
  const [q, setQ] = useState("");
  const [shown, setShown] = useState(100);
  const asked = q.toLowerCase().split(/\s+/).filter(Boolean);
  const found = runs.filter((run) => {
    const text = `${run.id} ${run.suite} ${run.series} ${run.way} ${run.torch}`.toLowerCase();
    return asked.every((word) => text.includes(word));
  });
  const sum = (run: StoredRun, names: readonly string[]) => names.reduce((total, name) => total + (run.states[name as keyof StoredRun["states"]] ?? 0), 0);
  return (
    <section>
      <h1>Runs <small>{number(runs.length)}</small></h1>
      <input type="search" aria-label="Search runs" placeholder="Suite, series, device, part, torch" value={q} onInput={(event) => setQ(event.currentTarget.value)} />
      <div class="wide" tabIndex={0} role="region" aria-label="Runs">
        <table>
          <thead><tr><th>Run</th><th>How</th><th>torch</th><th>Started</th><th class="right">Took</th><th class="right">Tests</th><th class="right">Broke</th><th>States</th><th>Compare</th></tr></thead>
          <tbody>{found.slice(0, shown).map((run) => {
            const total = sum(run, kStates);
            return (
              <tr key={run.id}>
                <td><a href={safeUrl(run.url)}><Name text={run.id} length={120} /></a>{run.running ? <span class="tag good">running</span> : !run.complete && <span class="tag">not complete</span>}</td>
                <td>{visible(run.way)}</td><td class="nowrap">{visible(run.torch)}</td><td>{date(run.started)}</td>
                <td class="right">{run.running ? "…" : duration(run.duration_s)}</td><td class="right">{number(total)}</td><td class="right">{number(sum(run, kAttention))}</td>
                <td class="barcell"><Bar states={kStates.map((state) => [state, run.states[state] ?? 0])} total={total} /></td>
                <td>{safeUrl(run.compare) && <a href={safeUrl(run.compare)} aria-label={`compare ${run.id} with the run before`}>changes</a>}</td>
              </tr>
            );
          })}</tbody>
        </table>
      </div>
      {found.length > shown && <button type="button" onClick={() => setShown(shown + 500)}>Show more of {number(found.length)}</button>}
      {found.length === 0 && <p>{runs.length === 0 ? "No run is stored yet." : "No matching runs."}</p>}
    </section>
  );
}

export function TestHistoryPage({ test }: { test: TestHistory }) {
  return (
    <section>
      <h1><Name text={test.id} length={500} /></h1>
      <p class="sub">{counted(test.results.length, "result")}, newest first</p>
      <ul class="cards">
        <Some items={test.results} first={50} what="results">{(one) => (
          <li key={`${one.run} ${one.started}`}>
            <div class="cause-head"><StateWord state={one.state} /> <a href={safeUrl(one.url)}><Name text={one.run} length={120} /></a>
              <span class="sub">{date(one.started)}, {duration(one.duration_s)}, {visible(one.way)}</span></div>
            {one.why && <code class="line"><Name text={one.why} length={500} /></code>}
          </li>
        )}</Some>
      </ul>
    </section>
  );
}

export const AllGapsPage = () => (
  <section>
    <Part<Gap[]> name="gaps">{(gaps) => (
      <>
        <h1>Gap log <small>{counted(gaps.length, "device API")} that runs missed</small></h1>
        <GapList gaps={gaps} none="No run met a gap." />
      </>
    )}</Part>
  </section>
);
